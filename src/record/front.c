/* Who takes the application's MPI calls before the recorder: a tool that is preloaded in front of
 * it, or that the program itself holds. Its calls are not seen, and a profile without them must not
 * be taken for the whole.
 */
#include "record/core.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>

static const char *const names[] = {
#define F(name, parameters, arguments) "MPI_" #name,
#define R(type, name, parameters, arguments) "MPI_" #name,
#include "abi/functions.def"
};

void stretto_record_front(const char *program, char *path, size_t size) {
    Dl_info own, other, entry = {0};
    const ElfW(Sym) *symbol = NULL;
    path[0] = '\0';
    dladdr((void *)getauxval(AT_ENTRY), &entry); /* of the program dladdr knows argv[0] only */
    void *self = dladdr((void *)stretto_record_front, &own) && own.dli_fname
                     ? dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                     : NULL;
    for (size_t i = 0; self && !path[0] && i < sizeof names / sizeof *names; i++) {
        void *mine = dlsym(self, names[i]), *first = dlsym(RTLD_DEFAULT, names[i]);
        if (!mine || !first || mine == first ||
            !dladdr1(first, &other, (void **)&symbol, RTLD_DL_SYMENT) || !other.dli_fname ||
            other.dli_fbase == own.dli_fbase)
            continue;
        /* a program that takes a function's address has a stub by its name, which comes here */
        if (symbol && symbol->st_shndx != SHN_UNDEF)
            snprintf(path, size, "%s",
                     other.dli_fbase == entry.dli_fbase ? program : other.dli_fname);
    }
    if (self)
        dlclose(self);
}
