/* Finds the host MPI among the objects of the process and fills the table.
 *
 * The libraries are told apart by soname, not by file name: programs open libmpi through links and
 * by paths of their own. The walk reads DT_SONAME from the mapped dynamic section, opens nothing
 * and runs once, at the first MPI call; a process without MPI never gets here. */
#include "abi/host.h"
#include "abi/object.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

stretto_host stretto_host_table;
bool stretto_host_loaded;
#ifdef STRETTO_ABI_OPENMPI
struct stretto_handles stretto_handles;
#endif

typedef struct {
    const char *family, *name;
    const char *sonames[3]; /* patterns for fnmatch */
} host_family;

static const host_family families[] = {
    {"openmpi", "Open MPI", {"libmpi.so.40", NULL}},
    /* Debian calls MPICH's libmpich.so.12, Cray has libmpi_gnu_123.so.12 and the like; libmpifort
     * and libmpicxx do not match */
    {"mpich", "MPICH or Intel MPI", {"libmpi.so.12", "libmpich.so.12", "libmpi_*.so.12"}},
    {"mpi5", "an MPI with the MPI-5 standard ABI", {"libmpi_abi.so.*", NULL}},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char host_path[PATH_MAX]; /* written once, under the lock, before stretto_host_loaded */
static void *host_handle;

typedef struct {
    char path[FAMILIES][PATH_MAX]; /* "" where the process has none */
} found_libraries;

static const char *object_soname(const struct dl_phdr_info *info) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return stretto_object_soname(
                (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), info->dlpi_addr);
    return NULL;
}

static int family_of(const char *soname) {
    for (int f = 0; f < FAMILIES; f++)
        for (int i = 0; i < 3 && families[f].sonames[i]; i++)
            if (!fnmatch(families[f].sonames[i], soname, 0))
                return f;
    return -1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    found_libraries *found = arg;
    if (!info->dlpi_name || !info->dlpi_name[0])
        return 0; /* the program itself */
    const char *soname = object_soname(info);
    int family = soname ? family_of(soname) : -1;
    if (family >= 0 && !found->path[family][0])
        snprintf(found->path[family], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

static int own_family(void) {
    for (int f = 0; f < FAMILIES; f++)
        if (!strcmp(families[f].family, STRETTO_FAMILY))
            return f;
    return -1;
}

/* Looks `name` ("Allreduce") up the way this build wants it: see host.h. */
static void *lookup(void *handle, const char *name) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "PMPI_%s", name);
#ifdef STRETTO_HOST_MPI
#ifdef STRETTO_RECORDER
    void *first = dlsym(RTLD_NEXT, symbol + 1);
#else
    void *first = dlsym(RTLD_DEFAULT, symbol + 1);
#endif
    if (first)
        return first;
    return dlsym(handle, symbol + 1); /* opened RTLD_LOCAL */
#else
    return dlsym(handle, symbol);
#endif
}

#ifdef STRETTO_ABI_MPICH
/* Handles are the same in C and Fortran; MPICH before 4.2 and Intel MPI have macros for these only.
 */
static int same(int handle) {
    return handle;
}

static void add_conversions(stretto_host *table) {
#define SAME(name)                                                                                 \
    if (!table->name##_c2f)                                                                        \
        table->name##_c2f = same;                                                                  \
    if (!table->name##_f2c)                                                                        \
        table->name##_f2c = same;
    SAME(Comm)
    SAME(Errhandler)
    SAME(Group) SAME(Info) SAME(Message) SAME(Op) SAME(Request) SAME(Session) SAME(Type) SAME(Win)
#undef SAME
}
#endif

/* The object that the whole process means by `name`: an executable may hold a copy of libmpi's data
 * (copy relocation), and then libmpi itself uses the copy. */
static void *data(void *handle, const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol ? symbol : dlsym(handle, name);
}

#ifdef STRETTO_ABI_MPI5
/* The draft that Intel MPI 2021.18 follows has RETURN before ABORT. Its MPI_Errhandler_toint tells:
 * it gives the number by which MPICH knows the handle inside, MPICH's own gives the value itself.
 */
MPI_Errhandler stretto_errhandler(int standard) {
    enum { ABORT = 0x142, RETURN = 0x143, MPICH_RETURN = 0x54000001 };
    bool exchanged = STRETTO_HOST_HAS(Errhandler_toint) &&
                     PMPI_Errhandler_toint((MPI_Errhandler)ABORT) == MPICH_RETURN;
    int host = exchanged ? ABORT + RETURN - standard : standard;
    return (MPI_Errhandler)(intptr_t)host;
}
#endif

static const char *const names[] = {
#define F(kind, name, parameters, arguments) #name,
#define R(kind, type, name, parameters, arguments) #name,
#include "abi/functions.def"
};
/* The table, a struct of nothing but function pointers, by position in functions.def. */
typedef union {
    stretto_host table;
    void *pointer[sizeof names / sizeof names[0]];
} host_pointers;
_Static_assert(sizeof(host_pointers) == sizeof(stretto_host), "one pointer a function");

/* Handles first and functions last: whoever sees a function may use the handles. */
static void fill(void *handle) {
    host_pointers host = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        host.pointer[i] = lookup(handle, names[i]);
#ifdef STRETTO_ABI_MPICH
    add_conversions(&host.table);
#endif
#ifdef STRETTO_ABI_OPENMPI
#define H(type, name, symbol) stretto_handles.h_##name = (type)data(handle, #symbol);
#include "abi/openmpi_handles.def"
#endif
#define F(kind, name, parameters, arguments)                                                       \
    __atomic_store_n(&stretto_host_table.name, host.table.name, __ATOMIC_RELEASE);
#define R(kind, type, name, parameters, arguments) F(kind, name, parameters, arguments)
#include "abi/functions.def"
}

const stretto_host *stretto_host_load_once(void) {
    pthread_mutex_lock(&lock);
    if (!stretto_host_loaded) {
        found_libraries found = {0};
        dl_iterate_phdr(visit, &found);
        const char *path = found.path[own_family()];
        void *handle = path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (handle) { /* kept open: the table points into it */
            memcpy(host_path, path, sizeof host_path);
            host_handle = handle;
            fill(handle);
            __atomic_store_n(&stretto_host_loaded, true, __ATOMIC_RELEASE);
        }
    }
    const stretto_host *table = stretto_host_loaded ? &stretto_host_table : NULL;
    pthread_mutex_unlock(&lock);
    return table;
}

const char *stretto_host_path(void) {
    return stretto_host_load() ? host_path : "";
}

/* Index of the family of a mapped libmpi that is not ours, with its path; -1 when there is none. */
static int foreign(char *path) {
    found_libraries found = {0};
    dl_iterate_phdr(visit, &found);
    int own = own_family();
    if (found.path[own][0])
        return -1;
    for (int f = 0; f < FAMILIES; f++)
        if (f != own && found.path[f][0]) {
            memcpy(path, found.path[f], PATH_MAX);
            return f;
        }
    return -1;
}

void stretto_host_refuse(const char *function) {
    char path[PATH_MAX];
    int family = foreign(path);
#ifdef STRETTO_RECORDER
    const char *library = "libstretto-record-";
#else
    const char *library = "libstretto-";
#endif
    if (stretto_host_load())
        fprintf(
            stderr,
            "stretto: error: %s was called, but the MPI (%s) does not have it\n"
            "stretto: remedy: run the program without Stretto to see whether it works at all; if "
            "it does, please report this\n",
            function, host_path);
    else if (family >= 0)
        fprintf(stderr,
                "stretto: error: this is Stretto's library for " STRETTO_FAMILY_NAME
                ", but the program uses %s (%s)\n"
                "stretto: remedy: preload %s%s.so, or start with `stretto run`, which chooses\n",
                families[family].name, path, library, families[family].family);
    else
        fprintf(
            stderr,
            "stretto: error: %s was called, but no MPI library that Stretto knows is loaded "
            "(libmpi.so.40, libmpi.so.12, libmpi_abi.so.*)\n"
            "stretto: remedy: run without Stretto's library in LD_PRELOAD; an MPI that is linked "
            "statically cannot be tuned\n",
            function);
    /* no exit handlers: the MPI, or what stands for it, is in an unknown state */
    _exit(1);
}

void stretto_host_end_job(void) {
    enum { LEAST_US = 200000, TURNS = 100 };
    fflush(stderr);
    /* launchers lose what they have not read from the pipe when the job ends */
    usleep(LEAST_US);
    for (int turn = 0, unread; turn < TURNS; turn++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0)
            break;
        usleep(LEAST_US / 10);
    }
    if (stretto_host_load() && stretto_host_table.Abort)
        stretto_host_table.Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

int stretto_host_open(const char *path, char *error, size_t error_size) {
    if (stretto_host_load())
        return 0;
    const host_family *family = &families[own_family()];
    char words[512] = "";
    const char *candidates[4] = {path};
    if (!path) {
        memcpy(candidates, family->sonames, sizeof family->sonames);
        if (!strcmp(STRETTO_FAMILY, "mpi5"))
            candidates[0] = "libmpi_abi.so.1";
    }
    for (int i = 0; i < 4 && candidates[i]; i++) {
        if (strchr(candidates[i], '*'))
            continue;
        if (!dlopen(candidates[i], RTLD_NOW | RTLD_GLOBAL))
            snprintf(words, sizeof words, "%s", dlerror());
        else if (stretto_host_load())
            return 0;
        else
            snprintf(words, sizeof words, "%s is not a library of %s", candidates[i], family->name);
    }
    snprintf(error, error_size, "%s", words);
    return -1;
}

void *stretto_host_symbol(const char *name) {
    return stretto_host_load() ? data(host_handle, name) : dlsym(RTLD_DEFAULT, name);
}

void *stretto_host_next(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol && stretto_host_load())
        symbol = dlsym(host_handle, name);
    if (!symbol)
        stretto_host_refuse(name);
    return symbol;
}
