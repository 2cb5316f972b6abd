/* Stands in for the compiler's <stdatomic.h> when src/node is compiled for the model check: every
 * atomic access goes to the model. Only what src/node uses; another operation does not compile. */
#ifndef STRETTO_MODEL_STDATOMIC_H
#define STRETTO_MODEL_STDATOMIC_H

typedef enum {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;

#define atomic_load_explicit(at, order) model_load(at, order, __func__)
#define atomic_store_explicit(at, value, order) model_store(at, value, order, __FILE__, __LINE__)

#endif
