/* Tells whether a call of PMPI_X came from the MPI's Fortran library. */
#include "abi/fortran.h"

#include "abi/object.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>

uintptr_t stretto_fortran_sites[STRETTO_FORTRAN_SITES];

/* Open MPI's libmpi_mpifh.so.40 and libmpi_usempif08.so.40 (IBM's: libmpi_ibm_mpifh), MPICH's and
 * Intel MPI's libmpifort.so.12, Debian's libmpichfort.so.12, Cray's libmpifort_gnu_123.so.12 */
static const char *const libraries[] = {"libmpi*_mpifh*", "libmpi*_usempi*", "libmpifort*",
                                        "libmpichfort*"};

/* A call site is judged once; two sites that share a slot displace each other, which costs time
 * only. An address says nothing any more once its object is unmapped, but MPI libraries never are.
 */
bool stretto_fortran_site(uintptr_t caller) {
    Dl_info info;
    struct link_map *map = NULL;
    bool fortran = false;
    if (dladdr1((void *)caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        const char *soname = stretto_object_soname(map->l_ld, map->l_addr);
        for (size_t i = 0; soname && i < sizeof libraries / sizeof libraries[0]; i++)
            fortran = fortran || !fnmatch(libraries[i], soname, 0);
    }
    __atomic_store_n(&stretto_fortran_sites[(caller >> 2) % STRETTO_FORTRAN_SITES],
                     caller << 1 | fortran, __ATOMIC_RELAXED);
    return fortran;
}
