/* Tells whether a call of PMPI_X came from Open MPI's Fortran library. */
#include "mpi/fortran.h"

#ifdef STRETTO_ABI_OPENMPI

#include "mpi/object.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>

uintptr_t stretto_fortran_sites[STRETTO_FORTRAN_SITES];

/* A call site is judged once; two sites that share a slot displace each other, which costs time
 * only. An address says nothing any more once its object is unmapped, but MPI libraries never are.
 */
bool stretto_fortran_site(uintptr_t caller) {
    Dl_info info;
    struct link_map *map = NULL;
    bool fortran = false;
    if (dladdr1((void *)caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        const char *soname = stretto_object_soname(map->l_ld, map->l_addr);
        /* libmpi_mpifh.so.40, libmpi_usempif08.so.40; IBM's are libmpi_ibm_mpifh and so on */
        fortran = soname &&
                  (!fnmatch("libmpi*_mpifh*", soname, 0) || !fnmatch("libmpi*_usempi*", soname, 0));
    }
    __atomic_store_n(&stretto_fortran_sites[(caller >> 2) % STRETTO_FORTRAN_SITES],
                     caller << 1 | fortran, __ATOMIC_RELAXED);
    return fortran;
}

#endif
