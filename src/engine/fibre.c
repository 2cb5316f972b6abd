/* Stacks, the switch between them, and what sanitizers must be told of it. */
#include "engine/fibre.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { STACK = 1 << 20 };

/* At the upper end of its stack. */
struct stretto_fibre {
    void *sp, *back; /* stack pointers of the fibre and of who resumed it, while they are left */
    void (*run)(void *);
    void *argument;
    bool ended;
    char *memory; /* a guard page, then the stack */
    size_t size;
    struct stretto_fibre *next; /* in the pool */
#if defined(__SANITIZE_ADDRESS__)
    void *shadow;
    const void *from;
    size_t from_size;
#endif
#if defined(__SANITIZE_THREAD__)
    void *shadow, *from;
#endif
};

static stretto_fibre *pool;
static _Thread_local stretto_fibre *current __attribute__((tls_model("initial-exec")));

/* stretto_fibre_switch(&save, to): what a called function must keep goes onto the stack, the stack
 * pointer to *save; then the same backwards from `to`. The modes of floating-point arithmetic are
 * kept too: a fibre computes as the application did when it started it. */
void stretto_fibre_switch(void **save, void *to);
#if defined(__x86_64__)
enum { FRAME = 8 }; /* words: modes, r15 r14 r13 r12 rbx rbp, return address */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl stretto_fibre_switch\n"
        ".hidden stretto_fibre_switch\n"
        ".type stretto_fibre_switch, @function\n"
        "stretto_fibre_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size stretto_fibre_switch, . - stretto_fibre_switch\n");

enum { RETURN = 7 };

enum { MODES = 0, RAISED = 0x3f }; /* of mxcsr: flags, not modes */

static void read_modes(uint32_t *mxcsr, uint16_t *control) {
    __asm__ volatile("stmxcsr %0" : "=m"(*mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(*control));
}

uint64_t stretto_modes_now(void) {
    uint32_t mxcsr;
    uint16_t control;
    read_modes(&mxcsr, &control);
    return (mxcsr & ~(uint32_t)RAISED) | (uint64_t)control << 32;
}

void stretto_modes_set(uint64_t modes) {
    uint32_t mxcsr;
    uint16_t control;
    read_modes(&mxcsr, &control);
    mxcsr = (mxcsr & RAISED) | (uint32_t)modes;
    control = (uint16_t)(modes >> 32);
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
    __asm__ volatile("fldcw %0" : : "m"(control) : "memory");
}
#elif defined(__aarch64__)
enum { FRAME = 22 }; /* words: x19-x30, d8-d15, fpcr, one to align */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl stretto_fibre_switch\n"
        ".hidden stretto_fibre_switch\n"
        ".type stretto_fibre_switch, %function\n"
        "stretto_fibre_switch:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size stretto_fibre_switch, . - stretto_fibre_switch\n");

enum { RETURN = 11 }; /* x30 */

enum { MODES = 20 };

uint64_t stretto_modes_now(void) {
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

void stretto_modes_set(uint64_t modes) {
    __asm__ volatile("msr fpcr, %0" : : "r"(modes) : "memory");
}
#else
#error "fibres: x86-64 and aarch64 only"
#endif

static inline void arrive_in_fibre(stretto_fibre *f) {
    (void)f;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(f->shadow, &f->from, &f->from_size);
#endif
}

__attribute__((noinline)) void stretto_fibre_yield(void) {
    stretto_fibre *f = current;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&f->shadow, f->from, f->from_size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(f->from, 0);
#endif
    stretto_fibre_switch(&f->sp, f->back);
    arrive_in_fibre(f);
}

__attribute__((noinline)) bool stretto_fibre_here(void) {
    return current != NULL;
}

/* The first frame of every fibre, which serves one function after another. */
static void body(void) {
    stretto_fibre *f = current;
    arrive_in_fibre(f);
    for (;;) {
        f->run(f->argument);
        f->ended = true;
        stretto_fibre_yield();
    }
}

static stretto_fibre *map_one(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page + STACK;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, page, PROT_NONE)) {
        munmap(memory, size);
        return NULL;
    }
    stretto_fibre *f =
        (stretto_fibre *)(void *)(memory + (size - sizeof *f) / 64 * 64); /* page is a multiple */
    *f = (stretto_fibre){.memory = memory, .size = size};
    /* 16 bytes above the return address stay 0, where a debugger looks for the next frame */
    uint64_t *top = (uint64_t *)(void *)((char *)f - 64);
#if defined(__x86_64__)
    f->sp = top - FRAME + 1; /* its return address at a multiple of 16: as after a call */
#else
    f->sp = top - FRAME;
#endif
#if defined(__SANITIZE_THREAD__)
    f->shadow = __tsan_create_fiber(0);
#endif
    ((uint64_t *)f->sp)[RETURN] = (uint64_t)(uintptr_t)body;
    return f;
}

stretto_fibre *stretto_fibre_new(void (*run)(void *), void *argument) {
    stretto_fibre *f = pool;
    if (f)
        pool = f->next;
    else if (!(f = map_one()))
        return NULL;
    f->run = run;
    f->argument = argument;
    f->ended = false;
    /* it has been left, or not been entered yet */
    ((uint64_t *)f->sp)[MODES] = stretto_modes_now();
    return f;
}

__attribute__((noinline)) bool stretto_fibre_resume(stretto_fibre *f) {
    current = f;
#if defined(__SANITIZE_ADDRESS__)
    void *shadow;
    const size_t page = f->size - STACK;
    __sanitizer_start_switch_fiber(&shadow, f->memory + page, STACK);
#endif
#if defined(__SANITIZE_THREAD__)
    f->from = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->shadow, 0);
#endif
    stretto_fibre_switch(&f->back, f->sp);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(shadow, NULL, NULL);
#endif
    current = NULL;
    if (!f->ended)
        return false;
    f->next = pool;
    pool = f;
    return true;
}

void stretto_fibres_free(void) {
    while (pool) {
        stretto_fibre *f = pool;
        pool = f->next;
#if defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(f->shadow);
#endif
        munmap(f->memory, f->size);
    }
}
