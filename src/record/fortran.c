/* The Fortran side of everything that is recorded: see abi/fortran.h. */
#include "record/calls.h"

#include "abi/fortran.h"

/* Functions beside those of calls.h that this library defines. */
#define REC_Init ROW(Init, HAND, NOTHING)
#define REC_Init_thread ROW(Init_thread, HAND, NOTHING)
#define REC_Finalize ROW(Finalize, HAND, NOTHING)
#define REC_Abort ROW(Abort, HAND, NOTHING)
#define REC_Pcontrol ROW(Pcontrol, HAND, NOTHING)

/* A row has four words; the name of a function without one stays a single word. */
#define FIFTH_(a, b, c, d, e, ...) e
#define FIFTH(...) FIFTH_(__VA_ARGS__)
#define HAS_ROW(name) FIFTH(REC_##name, 1, 0, 0, 0, ~)
#define ENTRY_0(name, parameters, arguments)
#define ENTRY_1(name, parameters, arguments) STRETTO_FORTRAN_ENTRY(int, name, parameters, arguments)
#define ENTRY__(has, name, parameters, arguments) ENTRY_##has(name, parameters, arguments)
#define ENTRY_(has, name, parameters, arguments) ENTRY__(has, name, parameters, arguments)
#define F(kind, name, parameters, arguments) ENTRY_(HAS_ROW(name), name, parameters, arguments)
#ifdef STRETTO_ABI_OPENMPI /* as in wrap.c */
#define L(kind, name, parameters, arguments)
#else
#define L(kind, name, parameters, arguments) ENTRY_(HAS_ROW(name), name##_c, parameters, arguments)
#endif
#include "abi/functions.def"
