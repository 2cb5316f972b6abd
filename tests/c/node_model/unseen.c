/* What the compiler puts at every plain access of the sources under test (-fsanitize=thread,
 * without its library): an access to the shared memory that came neither through <string.h> nor
 * through an operation would escape the model, so it ends the execution. Those of <string.h> are
 * calls of the model's functions, which are not instrumented. */
#include "tests/c/node_model/internal.h"

static void look(const void *at, const char *what) {
    if ((uintptr_t)at - (uintptr_t)model_now.memory < model_now.bytes)
        model_fail("a plain %s of shared memory that the model does not see: %s", what,
                   model_name(at));
}

#define ACCESS(bytes)                                                                              \
    void __tsan_read##bytes(void *at);                                                             \
    void __tsan_write##bytes(void *at);                                                            \
    void __tsan_unaligned_read##bytes(void *at);                                                   \
    void __tsan_unaligned_write##bytes(void *at);                                                  \
    void __tsan_read##bytes(void *at) {                                                            \
        look(at, "read");                                                                          \
    }                                                                                              \
    void __tsan_write##bytes(void *at) {                                                           \
        look(at, "write");                                                                         \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(void *at) {                                                  \
        look(at, "read");                                                                          \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void *at) {                                                 \
        look(at, "write");                                                                         \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_init(void);
void __tsan_read_range(void *at, size_t bytes) {
    (void)bytes;
    look(at, "read");
}
void __tsan_write_range(void *at, size_t bytes) {
    (void)bytes;
    look(at, "write");
}
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}
