/* Which ranks of a group lie in which domain. See domains.h. */
#include "node/domains.h"

#include <stdlib.h>

/* Numbers the domains by their first ranks: of[rank]. Returns how many there are. */
static int number(const int *domain_of, int nlocal, int *of) {
    int n = 0;
    for (int r = 0; r < nlocal; r++) {
        of[r] = -1;
        for (int before = 0; before < r && of[r] < 0; before++)
            if (domain_of[before] == domain_of[r])
                of[r] = of[before];
        if (of[r] < 0)
            of[r] = n++;
    }
    return n;
}

bool stretto_node_use_domains(stretto_node *node, const int *domain_of, bool commutes,
                              bool any_size) {
    const int nlocal = node->nlocal;
    int *memory = malloc(sizeof(stretto_domains) + (size_t)(5 * nlocal + 1) * sizeof *memory);
    stretto_domains *d = (stretto_domains *)memory;
    if (!memory)
        return false;
    int *of = (int *)(d + 1), *place = of + nlocal, *start = place + nlocal,
        *ranks = start + nlocal + 1, *lead = ranks + nlocal;
    const int n = number(domain_of, nlocal, of);
    if (n == 1 || n == nlocal) {
        free(memory);
        return true;
    }
    bool runs = true;
    memset(start, 0, (size_t)(n + 1) * sizeof *start);
    for (int r = 0; r < nlocal; r++) {
        place[r] = start[of[r] + 1]++;
        runs &= r == 0 || of[r] >= of[r - 1];
    }
    int smallest = nlocal;
    for (int i = 0; i < n; i++) {
        smallest = start[i + 1] < smallest ? start[i + 1] : smallest;
        start[i + 1] += start[i];
    }
    for (int r = 0; r < nlocal; r++)
        ranks[start[of[r]] + place[r]] = r;
    *d = (stretto_domains){n,  of[node->me], place[node->me], smallest, runs || commutes,
                           of, place,        start,           ranks,    lead};
    node->domains = d;
    node->by_domain = any_size || nlocal > STRETTO_NODE_DOMAIN_RANKS;
    if (node->by_domain)
        node->lines = 0;
    return true;
}
