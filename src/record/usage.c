/* What the rank had of its node's processors, into the header: now and then, and at the end, so
 * that a killed rank's is there, too. */
#include "record/core.h"
#include "topo/usage.h"

static stretto_usage begin;
static uint64_t noted_ns;

enum { EVERY_NS = 1000000000 };

void stretto_usage_begin(void) {
    begin = stretto_usage_now();
    noted_ns = stretto_header->last.ns;
    stretto_header->core_wait_ns = STRETTO_USAGE_UNKNOWN;
    stretto_header->load = stretto_usage_load();
    stretto_header->cores = stretto_usage_cores();
}

void stretto_usage_note(bool now) {
    stretto_raw_header *header = stretto_header;
    if (!now && header->last.ns - noted_ns < EVERY_NS)
        return;
    noted_ns = header->last.ns;
    stretto_usage used = stretto_usage_since(begin);
    header->cpu_ns = used.cpu_ns;
    header->core_wait_ns = used.core_wait_ns;
    header->involuntary = used.involuntary;
}
