/* The one door to building a plan: preconditions, the parameter, one rank, out of memory. */
#include "coll/build.h"

#include <stdio.h>

enum { MAX_SEGMENTS = 1024 };

int stretto_choice_segments(const stretto_choice *choice, size_t bytes) {
    if (!choice->algorithm || !stretto_param_segments(choice->algorithm->param))
        return 1;
    size_t n = bytes / (size_t)choice->param + (bytes % (size_t)choice->param != 0);
    return n < 1 ? 1 : n > MAX_SEGMENTS ? MAX_SEGMENTS : (int)n;
}

static void set_parameters(stretto_shape *shape, const stretto_choice *choice, size_t bytes) {
    shape->radix = 0;
    shape->segments = 1;
    shape->window = 0;
    switch (choice->algorithm->param) {
    case STRETTO_PARAM_RADIX: shape->radix = choice->param; break;
    case STRETTO_PARAM_WINDOW: shape->window = choice->param; break;
    case STRETTO_PARAM_SEGMENT_FANOUT: shape->radix = choice->fanout; /* fall through */
    case STRETTO_PARAM_SEGMENT: shape->segments = stretto_choice_segments(choice, bytes); break;
    default: break;
    }
}

void stretto_build_alone(stretto_plan *plan) {
    const stretto_collective c = plan->shape.collective;
    if (c != STRETTO_BCAST && c != STRETTO_BARRIER && c != STRETTO_EXSCAN)
        stretto_plan_load(plan);
}

int stretto_build_flat(stretto_plan *plan, const stretto_choice *choice, const stretto_shape *shape,
                       size_t bytes, char *error, size_t error_size) {
    const stretto_algorithm *row = choice->algorithm;
    const char *reason = stretto_algorithm_fits(row, shape);
    if (reason) {
        snprintf(error, error_size, "%s cannot be used: %s", row->name, reason);
        return -1;
    }
    stretto_shape own = *shape;
    set_parameters(&own, choice, bytes);
    stretto_plan_init(plan, &own);
    plan->carries = own.nranks > 1 && (row->needs & STRETTO_CARRIES) != 0;
    int status = 0;
    if (own.nranks == 1 && !stretto_collective_neighbor(own.collective)) /* has edges to itself */
        stretto_build_alone(plan);
    else
        status = row->build(plan, &own);
    stretto_plan_finish(plan);
    if (status == 0 && !plan->failed)
        return 0;
    snprintf(error, error_size,
             plan->failed ? "out of memory while building %s" : "%s cannot be built for this call",
             row->name);
    stretto_plan_free(plan);
    return -1;
}

int stretto_plan_build(stretto_plan *plan, const stretto_choice *choice, const stretto_shape *shape,
                       size_t bytes, char *error, size_t error_size) {
    stretto_shape own = *shape;
    own.in_place = stretto_shape_in_place(shape);
    if (stretto_collective_neighbor(own.collective) && !own.graph) {
        snprintf(error, error_size, "a neighbourhood collective needs a graph");
        return -1;
    }
    switch (choice->kind) {
    case STRETTO_CHOICE_FLAT:
        return stretto_build_flat(plan, choice, &own, bytes, error, error_size);
    case STRETTO_CHOICE_SHM:
        return stretto_build_hierarchy(plan, choice, &own, bytes, error, error_size);
    default: snprintf(error, error_size, "native is the MPI's own and has no plan"); return -1;
    }
}
