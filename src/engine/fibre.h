/* A fibre: a function on a separate stack that can be suspended and resumed by any thread. It lets
 * the blocking engine execute nonblocking collectives. A switch takes a few instructions.
 *
 * After every yield, the code of a fibre may run on another thread. It must not keep addresses of
 * thread-local data (errno included) across a yield. */
#ifndef STRETTO_FIBRE_H
#define STRETTO_FIBRE_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread's modes of floating-point arithmetic (rounding, subnormals), without the flags
 * that it has raised; and other ones for it. */
#if defined(__x86_64__)
#define STRETTO_MODES_DEFAULT (0x1f80 | (uint64_t)0x37f << 32)
#else
#define STRETTO_MODES_DEFAULT ((uint64_t)0)
#endif
uint64_t stretto_modes_now(void);
void stretto_modes_set(uint64_t modes);

typedef struct stretto_fibre stretto_fibre;

/* Will call run(argument) when first resumed, in the modes that the caller has now. NULL without
 * memory. New, resume and free_all by one thread at a time; a stack of 1 MiB, of which what was
 * used stays with the pool. */
stretto_fibre *stretto_fibre_new(void (*run)(void *), void *argument);
/* Goes on with it until it yields (false) or returns (true: it is gone). Not from within a fibre.
 */
bool stretto_fibre_resume(stretto_fibre *fibre);
/* From within a fibre: back to who resumed it. */
void stretto_fibre_yield(void);
/* Whether the caller runs in a fibre. */
bool stretto_fibre_here(void);
/* Gives the pool's memory back. */
void stretto_fibres_free(void);

#endif
