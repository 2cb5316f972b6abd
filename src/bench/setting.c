/* Control variables of the MPI (MPI_T, MPI-4.1 chapter 15), written while the program runs.
 *
 * Only what all MPIs of a family agree on is used: a variable is found by its name, its type is
 * asked, and it is written if it is a number that belongs to no object. Whether a value is *used*
 * the MPI does not tell: which variables those are is Python's part (campaign/inlaunch.py). */
#include "bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, NAME = 256 };

/* All MPIs have pointers for these handles. */
typedef void *cvar_handle, *enum_handle;

static struct {
    int (*init)(int, int *);
    int (*finalize)(void);
    int (*index)(const char *, int *);
    int (*info)(int, char *, int *, int *, MPI_Datatype *, enum_handle *, char *, int *, int *,
                int *);
    int (*alloc)(int, void *, cvar_handle *, int *);
    int (*free)(cvar_handle *);
    int (*read)(cvar_handle, void *);
    int (*write)(cvar_handle, const void *);
    bool tried, works;
} tools;

/* A number of any type that is written; the first bytes count. */
typedef union {
    int i;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
} number;

static struct {
    cvar_handle handle;
    const char *name;
    size_t size;
    number before;
} made[MOST];
static int nmade;

static bool open_tools(void) {
    static const char *const names[] = {
        "MPI_T_init_thread",   "MPI_T_finalize",          "MPI_T_cvar_get_index",
        "MPI_T_cvar_get_info", "MPI_T_cvar_handle_alloc", "MPI_T_cvar_handle_free",
        "MPI_T_cvar_read",     "MPI_T_cvar_write",
    };
    void *places[] = {&tools.init,  &tools.finalize, &tools.index, &tools.info,
                      &tools.alloc, &tools.free,     &tools.read,  &tools.write};
    if (tools.tried)
        return tools.works;
    tools.tried = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *function = stretto_host_symbol(names[i]);
        if (!function)
            return false;
        memcpy(places[i], &function, sizeof function);
    }
    int provided;
    tools.works = tools.init(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
    return tools.works;
}

/* The bytes of the value, 0 for a type that is not written here. */
static size_t parse(MPI_Datatype type, const char *text, number *value) {
    char *end;
    errno = 0;
    long long all = strtoll(text, &end, 10);
    if (!*text || *end || errno)
        return 0;
    memset(value, 0, sizeof *value);
    if (type == MPI_INT && all == (int)all)
        return value->i = (int)all, sizeof value->i;
    if (type == MPI_UNSIGNED && all == (long long)(unsigned)all)
        return value->u = (unsigned)all, sizeof value->u;
    if (type == MPI_UNSIGNED_LONG && all >= 0)
        return value->ul = (unsigned long)all, sizeof value->ul;
    if (type == MPI_UNSIGNED_LONG_LONG && all >= 0)
        return value->ull = (unsigned long long)all, sizeof value->ull;
    return 0;
}

static bool holds(cvar_handle handle, const number *value, size_t size) {
    number now;
    memset(&now, 0, sizeof now);
    return tools.read(handle, &now) == MPI_SUCCESS && memcmp(&now, value, size) == 0;
}

/* NULL, or why it could not be made. */
static const char *make(const stretto_bench_setting *setting) {
    int index, length = NAME, words = 0, level, bind, scope, count = 0;
    char name[NAME] = "";
    MPI_Datatype type;
    enum_handle items;
    number value;
    if (nmade == MOST)
        return "is one of too many";
    if (tools.index(setting->name, &index) != MPI_SUCCESS ||
        tools.info(index, name, &length, &level, &type, &items, NULL, &words, &bind, &scope) !=
            MPI_SUCCESS)
        return "is not a control variable of this MPI (MPI_T)";
    size_t size = parse(type, setting->value, &value);
    if (size == 0)
        return "does not take this value (only whole numbers can be given)";
    cvar_handle handle;
    if (tools.alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return "belongs to an MPI object";
    memset(&made[nmade], 0, sizeof made[nmade]);
    if (count != 1 || tools.read(handle, &made[nmade].before) != MPI_SUCCESS) {
        tools.free(&handle);
        return "cannot be read";
    }
    made[nmade].handle = handle;
    made[nmade].name = setting->name;
    made[nmade].size = size;
    nmade++; /* restore gives back what a failing write may have left */
    if (tools.write(handle, &value) != MPI_SUCCESS)
        return "cannot be changed any more in a running program";
    return holds(handle, &value, size) ? NULL : "does not keep the value that was written";
}

int stretto_bench_settings_write(const stretto_bench_choice *choice, char *why, size_t size) {
    if (choice->nsettings == 0)
        return 0;
    if (!open_tools()) {
        snprintf(why, size, "this MPI has no control variables (MPI_T)");
        return -1;
    }
    for (int i = 0; i < choice->nsettings; i++) {
        const char *wrong = make(&choice->settings[i]);
        if (wrong) {
            snprintf(why, size, "%s=%s: the variable %s", choice->settings[i].name,
                     choice->settings[i].value, wrong);
            char other[NAME];
            if (stretto_bench_settings_restore(other, sizeof other) != 0) {
                fprintf(stderr, "stretto-bench: %s\n", other);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            return -1;
        }
    }
    return 0;
}

int stretto_bench_settings_restore(char *why, size_t size) {
    int failed = 0;
    while (nmade > 0) { /* the last first: a name may have been given twice */
        nmade--;
        if (!holds(made[nmade].handle, &made[nmade].before, made[nmade].size) &&
            (tools.write(made[nmade].handle, &made[nmade].before) != MPI_SUCCESS ||
             !holds(made[nmade].handle, &made[nmade].before, made[nmade].size))) {
            snprintf(why, size, "%s cannot be restored to its old value", made[nmade].name);
            failed = -1;
        }
        tools.free(&made[nmade].handle);
    }
    return failed;
}

void stretto_bench_settings_close(void) {
    if (tools.works)
        tools.finalize();
    tools.works = false;
}
