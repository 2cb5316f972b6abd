/* Info objects: hints that this library keeps and heeds none of. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL]; /* with their NUL */
} entry;

typedef struct {
    int n;
    entry *entries;
} serial_info;

static serial_table infos = {.size = sizeof(serial_info), .first = 2};
static serial_info environment; /* MPI_INFO_ENV: nothing is known */

static serial_info *info_at(MPI_Info info) {
    return info == MPI_INFO_ENV ? &environment : serial_at(&infos, info);
}

static int bad(const char *function) {
    return serial_error(0, MPI_ERR_INFO, function, "no valid info object");
}

static entry *find(const serial_info *info, const char *key) {
    for (int i = 0; i < info->n; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

int MPI_Info_create(MPI_Info *info) {
    serial_add(&infos, info);
    return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info *info) {
    serial_info *i = serial_at(&infos, *info);
    if (!i)
        return bad("MPI_Info_free");
    free(i->entries);
    serial_drop(&infos, *info);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char *key, const char *value) {
    serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_set");
    if (strlen(key) >= MPI_MAX_INFO_KEY || strlen(value) >= MPI_MAX_INFO_VAL)
        return serial_error(0,
                            strlen(key) >= MPI_MAX_INFO_KEY ? MPI_ERR_INFO_KEY : MPI_ERR_INFO_VALUE,
                            "MPI_Info_set", "too long");
    entry *e = find(i, key);
    if (!e) {
        entry *entries = serial_memory((size_t)(i->n + 1) * sizeof *entries);
        if (i->n)
            memcpy(entries, i->entries, (size_t)i->n * sizeof *entries);
        free(i->entries);
        i->entries = entries;
        e = &entries[i->n++];
        snprintf(e->key, sizeof e->key, "%s", key);
    }
    snprintf(e->value, sizeof e->value, "%s", value);
    return MPI_SUCCESS;
}

int MPI_Info_delete(MPI_Info info, const char *key) {
    serial_info *i = info_at(info);
    entry *e = i ? find(i, key) : NULL;
    if (!e)
        return i ? serial_error(0, MPI_ERR_INFO_NOKEY, "MPI_Info_delete", "no key '%s'", key)
                 : bad("MPI_Info_delete");
    *e = i->entries[--i->n];
    return MPI_SUCCESS;
}

int MPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *flag) {
    const serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_get");
    const entry *e = find(i, key);
    *flag = e != NULL;
    if (e)
        snprintf(value, (size_t)length + 1, "%s", e->value);
    return MPI_SUCCESS;
}

int MPI_Info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag) {
    const serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_get_valuelen");
    const entry *e = find(i, key);
    *flag = e != NULL;
    if (e)
        *length = (int)strlen(e->value);
    return MPI_SUCCESS;
}

int MPI_Info_get_nkeys(MPI_Info info, int *n) {
    const serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_get_nkeys");
    *n = i->n;
    return MPI_SUCCESS;
}

int MPI_Info_get_nthkey(MPI_Info info, int n, char *key) {
    const serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_get_nthkey");
    if (n < 0 || n >= i->n)
        return serial_error(0, MPI_ERR_ARG, "MPI_Info_get_nthkey", "there is no key %d of %d", n,
                            i->n);
    snprintf(key, MPI_MAX_INFO_KEY, "%s", i->entries[n].key);
    return MPI_SUCCESS;
}

int MPI_Info_dup(MPI_Info info, MPI_Info *made) {
    const serial_info *i = info_at(info);
    if (!i)
        return bad("MPI_Info_dup");
    serial_info *copy = serial_add(&infos, made);
    copy->entries = serial_memory((size_t)i->n * sizeof *copy->entries);
    if (i->n)
        memcpy(copy->entries, i->entries, (size_t)i->n * sizeof *copy->entries);
    copy->n = i->n;
    return MPI_SUCCESS;
}

int serial_info_keep(MPI_Info *kept, MPI_Info info) {
    if (*kept)
        MPI_Info_free(kept);
    *kept = MPI_INFO_NULL;
    return info == MPI_INFO_NULL ? MPI_SUCCESS : MPI_Info_dup(info, kept);
}

int serial_info_give(MPI_Info kept, MPI_Info *info) {
    return kept ? MPI_Info_dup(kept, info) : MPI_Info_create(info);
}
