/* Mapped shared objects and their names. */
#ifndef STRETTO_OBJECT_H
#define STRETTO_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* DT_SONAME of the object with that dynamic section and load address, or NULL. The section holds
 * absolute addresses after relocation on most platforms; a value below the load address is an
 * offset still (vDSO, some architectures). */
static inline const char *stretto_object_soname(const ElfW(Dyn) * dynamic, ElfW(Addr) base) {
    ElfW(Addr) strings = 0, soname = 0;
    bool has_soname = false;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            strings = dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SONAME) {
            soname = dynamic->d_un.d_val;
            has_soname = true;
        }
    }
    if (!strings || !has_soname)
        return NULL;
    if (strings < base)
        strings += base;
    return (const char *)(strings + soname);
}

/* Whether the object defines or uses a symbol whose name begins so. */
static inline bool stretto_object_names(const ElfW(Dyn) * dynamic, ElfW(Addr) base,
                                        const char *begin) {
    ElfW(Addr) strings = 0;
    size_t size = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            strings = dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_STRSZ)
            size = dynamic->d_un.d_val;
    }
    if (strings && strings < base)
        strings += base;
    const char *at = (const char *)strings, *end = at + size;
    for (; strings && at < end; at += strlen(at) + 1)
        if (!strncmp(at, begin, strlen(begin)))
            return true;
    return false;
}

#endif
