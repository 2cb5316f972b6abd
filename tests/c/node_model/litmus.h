#ifndef STRETTO_MODEL_LITMUS_H
#define STRETTO_MODEL_LITMUS_H

#include <stdbool.h>

/* Whether the checker finds exactly the outcomes that it should; prints what differs. */
bool litmus(void);

#endif
