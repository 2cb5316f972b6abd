/* Between model.c and memory.c. */
#ifndef STRETTO_MODEL_INTERNAL_H
#define STRETTO_MODEL_INTERNAL_H

#include "tests/c/node_model/model.h"

extern model_execution model_now;
extern int model_me; /* the rank that runs */

/* Another rank may go on here. */
void model_switch(void);
/* Does not go on before something is stored at the location. */
void model_wait(const void *location);
void model_wake(const void *location);
const char *model_name(const void *location);
void model_memory_begin(void);

#endif
