/* A program without MPI that opens program.c, built as a library, RTLD_LOCAL, as interpreters do.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 9;
    }
    /* else nothing is tested; a function that Stretto does not define */
    if (dlsym(RTLD_DEFAULT, "MPI_Get_library_version")) {
        fprintf(stderr, "the MPI is in the global scope\n");
        return 8;
    }
    int (*run)(int, char **);
    *(void **)&run = dlsym(plugin, "main");
    return run(argc, argv);
}
