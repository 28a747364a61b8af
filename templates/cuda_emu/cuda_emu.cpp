/* See cuda_emu.h. */
#include "cuda_emu.h"
#include <mutex>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

extern "C" void cuemu_switch(void **save, void *load);
#if defined(__x86_64__)
enum { SAVED = 6, RETURN_AT = 6 };
asm(".text\n.globl cuemu_switch\n.type cuemu_switch,@function\ncuemu_switch:\n"
    " pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    " movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
    " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
#elif defined(__aarch64__)
enum { SAVED = 20, RETURN_AT = 11 };
asm(".text\n.globl cuemu_switch\n.type cuemu_switch,%function\ncuemu_switch:\n"
    " sub sp,sp,#160\n stp x19,x20,[sp]\n stp x21,x22,[sp,#16]\n stp x23,x24,[sp,#32]\n stp x25,x26,[sp,#48]\n"
    " stp x27,x28,[sp,#64]\n stp x29,x30,[sp,#80]\n stp d8,d9,[sp,#96]\n stp d10,d11,[sp,#112]\n"
    " stp d12,d13,[sp,#128]\n stp d14,d15,[sp,#144]\n mov x2,sp\n str x2,[x0]\n mov sp,x1\n"
    " ldp x19,x20,[sp]\n ldp x21,x22,[sp,#16]\n ldp x23,x24,[sp,#32]\n ldp x25,x26,[sp,#48]\n"
    " ldp x27,x28,[sp,#64]\n ldp x29,x30,[sp,#80]\n ldp d8,d9,[sp,#96]\n ldp d10,d11,[sp,#112]\n"
    " ldp d12,d13,[sp,#128]\n ldp d14,d15,[sp,#144]\n add sp,sp,#160\n ret\n");
#else
#error "the emulator switches fibers on x86-64 and aarch64 only"
#endif

namespace cuemu {
enum { STACK_BYTES = 64 << 10, RED_ZONE = 256, POOL_BYTES = 128 << 10, RED = 0xcd, NOT_SET = 0xff, FAILED = 97 };
enum { FORWARD, BACKWARD, RANDOM };
__thread block *B;
__thread fiber *F;

CUEMU_HIDDEN void die(const char *what) {
    fprintf(stderr, "cuda_emu: %s", what);
    if (B && F)
        fprintf(stderr, " (block %u,%u,%u, thread %u,%u,%u; last barrier: %s)", B->index.x, B->index.y, B->index.z,
                F->tid.x, F->tid.y, F->tid.z, B->barrier ? B->barrier : "none");
    fprintf(stderr, "\n");
    fflush(stderr);
    _exit(FAILED);
}

/* ---- device memory: pages with a guard page behind the last byte and one in front */
struct region {
    unsigned char *map, *data;
    size_t mapped, bytes;
};
enum { MAX_REGIONS = 256 };
static region regions[MAX_REGIONS];
static std::recursive_mutex lock;
static int inside; /* copies and kernels in progress */
static cudaError_t last_error;
static bool strict() {
    static const char *s = getenv("CUEMU_STRICT");
    return s && *s == '1';
}
static void reach(const region &r, bool open) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(r.map + page, r.mapped - 2 * page, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
struct device {
    device() { turn(1); }
    ~device() { turn(-1); }
    static void turn(int by) {
        if (!strict()) return;
        std::lock_guard<std::recursive_mutex> hold(lock);
        inside += by;
        if (inside == (by > 0 ? 1 : 0))
            for (region &r : regions)
                if (r.map) reach(r, by > 0);
    }
};
static void on_fault(int, siginfo_t *info, void *) {
    for (region &r : regions) {
        const unsigned char *at = (const unsigned char *)info->si_addr;
        if (!r.map || at < r.map || at >= r.map + r.mapped) continue;
        die(!B ? "the host accesses device memory"
            : at >= r.data + r.bytes || at < r.data ? "a kernel accesses memory out of bounds"
                                                    : "device memory is out of reach");
    }
    die(B ? "a kernel accesses memory that is not the device's" : "the program accesses memory out of bounds");
}
static void watch_faults() {
    static bool done;
    static char stack[64 << 10];
    if (done) return;
    done = true;
#if !defined(__SANITIZE_ADDRESS__) && !CUEMU_TSAN
    stack_t s = {};
    s.ss_sp = stack;
    s.ss_size = sizeof stack;
    sigaltstack(&s, nullptr);
    struct sigaction a = {};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &a, nullptr);
    sigaction(SIGBUS, &a, nullptr);
#else
    (void)stack, (void)on_fault;
#endif
}

/* ---- which fiber next */
CUEMU_HIDDEN static unsigned pick(unsigned mask, unsigned from) {
    if (B->order == FORWARD) {
        const unsigned after = from >= 32 ? 0 : mask & ~0u << from;
        return (unsigned)__builtin_ctz(after ? after : mask);
    }
    if (B->order == BACKWARD) return 31u - (unsigned)__builtin_clz(mask);
    B->random = B->random * 6364136223846793005u + 1442695040888963407u;
    for (unsigned n = (unsigned)(B->random >> 33) % (unsigned)__builtin_popcount(mask); n--;) mask &= mask - 1;
    return (unsigned)__builtin_ctz(mask);
}
CUEMU_HIDDEN static fiber *next_fiber() {
    const unsigned now = B->current / LANES;
    if (!B->warps_ready) return nullptr;
    const unsigned w = B->order != RANDOM && (B->warps_ready >> now & 1) ? now : pick(B->warps_ready, now + 1);
    return &B->f[w * LANES + pick(B->w[w].ready, w == now ? B->current % LANES + 1 : 0)];
}
CUEMU_HIDDEN static void go(void **save, fiber *n) {
    B->current = n->number;
    F = n;
#if CUEMU_TSAN
    __tsan_switch_to_fiber(n->tsan, 1);
#endif
    cuemu_switch(save, n->sp);
}
CUEMU_HIDDEN void wait_for_others() {
    fiber *me = F, *n = next_fiber();
    if (!n) die("deadlock: threads wait at a barrier or in a warp operation that others never reach");
    if (n != me) go(&me->sp, n);
    F = me;
}
CUEMU_HIDDEN static void not_ready(unsigned number) {
    warp &w = B->w[number / LANES];
    w.ready &= ~(1u << number % LANES);
    if (!w.ready) B->warps_ready &= ~(1u << number / LANES);
}
static unsigned all_warps(const block *b) { return b->warps == 32 ? ~0u : (1u << b->warps) - 1; }
CUEMU_HIDDEN void barrier(const char *where) {
    if (B->arrived && B->barrier != where && strcmp(B->barrier, where) != 0)
        die("threads of one block wait at different barriers");
    if (B->live != B->threads) die("a barrier after threads of the block have ended");
    B->barrier = where;
#if CUEMU_TSAN
    char *const sync = &B->sync[B->turn & 1];
    __tsan_release(sync);
#endif
    if (++B->arrived == B->live) {
        B->arrived = 0;
        B->turn++;
        for (unsigned i = 0; i < B->warps; i++) B->w[i].ready = B->w[i].live;
        B->warps_ready = all_warps(B);
        if (B->order != FORWARD) wait_for_others(); /* the last to arrive need not be the first to go on */
    } else {
        not_ready(F->number);
        wait_for_others();
    }
#if CUEMU_TSAN
    __tsan_acquire(sync);
#endif
}
CUEMU_HIDDEN uint3 thread_index() { return F->tid; }
CUEMU_HIDDEN uint3 block_index() { return B->index; }
CUEMU_HIDDEN uint3 block_dim() { return B->dim; }
CUEMU_HIDDEN uint3 grid_dim() { return B->grid; }
CUEMU_HIDDEN unsigned lane() { return F->number % LANES; }

/* ---- sums of tensor cores */
static bool open_sums() {
    static const char *s = getenv("CUEMU_SUMS");
    return s && !strcmp(s, "open");
}
/* Down to so many bits below the greatest term, as terms are lined up before they are added. */
static double truncated(double v, int exponent) {
    const double unit = ldexp(1, exponent - 23);
    return trunc(v / unit) * unit;
}
CUEMU_HIDDEN float sum_of_products(float c, const float *a, const float *b, int n) {
    if (!open_sums()) {
        for (int k = 0; k < n; k++) c = fmaf(a[k], b[k], c);
        return c;
    }
    for (int k = n - 4; k >= 0; k -= 4) { /* the last four first: no order is promised */
        double term[5] = {c}, greatest = fabs(c), sum = 0;
        int exponent;
        for (int i = 0; i < 4; i++) {
            term[1 + i] = (double)a[k + i] * b[k + i];
            greatest = fmax(greatest, fabs(term[1 + i]));
        }
        (void)frexp(greatest, &exponent);
        for (int i = 0; i < 5; i++) sum += isfinite(greatest) && greatest > 0 ? truncated(term[i], exponent - 1) : term[i];
        (void)frexp(sum, &exponent);
        c = (float)(isfinite(sum) && sum != 0 ? truncated(sum, exponent - 1) : sum);
    }
    return c;
}

/* ---- shared memory: one buffer per place in the text and block, between red zones, from a pool of the block. Under
 * ThreadSanitizer every block gets a new pool, which is never freed: reuse would look like a race. */
CUEMU_HIDDEN static void fill(unsigned char *p, unsigned char v, size_t n) {
    for (size_t i = 0; i < n; i++) ((volatile unsigned char *)p)[i] = v;
}
static void begin_shared() {
    if (CUEMU_TSAN || !B->pool) B->pool = (unsigned char *)aligned_alloc(64, POOL_BYTES);
    if (!B->pool) die("out of memory");
    B->used = 0;
    B->nshared = 0;
}
CUEMU_HIDDEN void *shared(const void *site, const char *name, size_t bytes) {
    for (int k = 0; k < B->nshared; k++)
        if (B->shared[k].site == site) return B->shared[k].data;
    const size_t room = (bytes + 15) / 16 * 16, all = room + 2 * RED_ZONE;
    if (B->nshared == MAX_SHARED || bytes > POOL_BYTES || B->used + all > POOL_BYTES) die("too much shared memory");
    shared_buffer *s = &B->shared[B->nshared++];
    *s = {site, name, B->pool + B->used, B->pool + B->used + RED_ZONE, bytes};
    B->used += all;
    fill(s->memory, RED, all);
    fill(s->data, NOT_SET, bytes);
#if defined(__SANITIZE_ADDRESS__)
    ASAN_POISON_MEMORY_REGION(s->memory, RED_ZONE);
    ASAN_POISON_MEMORY_REGION(s->data + bytes, all - RED_ZONE - bytes);
#endif
    return s->data;
}
CUEMU_HIDDEN static void end_shared() {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(B->pool, POOL_BYTES);
#endif
    for (int k = 0; k < B->nshared; k++) {
        const shared_buffer *s = &B->shared[k];
        const unsigned char *end = s->data + (s->bytes + 15) / 16 * 16 + RED_ZONE;
        for (const unsigned char *p = s->memory; p < end; p++) {
            if ((p >= s->data && p < s->data + s->bytes) || *p == RED) continue;
            fprintf(stderr, "cuda_emu: shared buffer %s was written out of bounds, %ld bytes %s (block %u,%u,%u)\n",
                    s->name, (long)(p < s->data ? s->data - p : p - s->data - (long)s->bytes + 1),
                    p < s->data ? "before it" : "after its end", B->index.x, B->index.y, B->index.z);
            fflush(stderr);
            _exit(FAILED);
        }
    }
}

/* ---- blocks */
CUEMU_HIDDEN static void fiber_main() {
    for (;;) { /* a fiber serves one thread after the other */
        B->entry(B->arg);
        fiber *me = F;
#if CUEMU_TSAN
        __tsan_release(&B->end_sync);
#endif
        B->w[me->number / LANES].live &= ~(1u << me->number % LANES);
        not_ready(me->number);
        B->live--;
        fiber *n = next_fiber();
        if (n) {
            go(&me->sp, n);
            continue;
        }
        if (B->live) die("deadlock: the block ends with threads that wait");
#if CUEMU_TSAN
        __tsan_switch_to_fiber(B->scheduler_tsan, 1);
#endif
        cuemu_switch(&me->sp, B->scheduler_sp);
    }
}
CUEMU_HIDDEN static void make_stacks(unsigned n) {
    for (unsigned i = 0; i < n; i++) { /* tops are staggered, so that stacks do not share cache sets */
        char *top = B->stacks + (size_t)STACK_BYTES * (i + 1) - (size_t)(i % 61) * 192;
        void **s = (void **)((uintptr_t)top & ~(uintptr_t)63);
        *--s = nullptr;
#if defined(__x86_64__)
        *--s = (void *)fiber_main;
#endif
        s -= SAVED;
        memset(s, 0, SAVED * sizeof *s);
#if defined(__aarch64__)
        s[RETURN_AT] = (void *)fiber_main;
#endif
        B->f[i].sp = s;
    }
}
static block *new_block() {
    block *b = (block *)calloc(1, sizeof(block));
    const char *order = getenv("CUEMU_ORDER"), *seed = getenv("CUEMU_SEED");
    void *map = mmap(nullptr, (size_t)STACK_BYTES * MAX_THREADS, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!b || map == MAP_FAILED) die("out of memory");
    b->stacks = (char *)map;
    b->order = !order ? FORWARD : !strcmp(order, "backward") ? BACKWARD : !strcmp(order, "random") ? RANDOM : FORWARD;
    b->random = (seed ? strtoull(seed, nullptr, 10) : 0) * 0x9e3779b97f4a7c15u + 1;
    return b;
}
CUEMU_HIDDEN static void run_block(uint64_t k) {
    B->index = {(unsigned)(k % B->grid.x), (unsigned)(k / B->grid.x % B->grid.y),
                (unsigned)(k / B->grid.x / B->grid.y)};
    B->live = B->threads;
    B->arrived = 0;
    B->barrier = nullptr;
    B->current = 0;
    for (unsigned i = 0; i < B->warps; i++) {
        const unsigned n = B->threads - i * LANES;
        B->w[i].live = B->w[i].ready = n >= LANES ? ~0u : (1u << n) - 1;
        B->w[i].arrived = 0;
    }
    B->warps_ready = all_warps(B);
    begin_shared();
#if CUEMU_TSAN /* blocks of a launch are unordered: fresh stacks, so that only what is really shared is seen */
    B->scheduler_tsan = __tsan_get_current_fiber();
    mmap(B->stacks, (size_t)STACK_BYTES * B->threads, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    make_stacks(B->threads);
    for (unsigned i = 0; i < B->threads; i++) B->f[i].tsan = __tsan_create_fiber(0);
#endif
    go(&B->scheduler_sp, B->order == RANDOM ? next_fiber() : &B->f[B->order == BACKWARD ? B->threads - 1 : 0]);
#if CUEMU_TSAN
    for (unsigned i = 0; i < B->threads; i++) __tsan_destroy_fiber(B->f[i].tsan);
#endif
    end_shared();
}
CUEMU_HIDDEN void launch(dim3 grid, dim3 dim, void (*entry)(void *), void *arg) {
    static __thread block *own;
    const uint64_t threads = (uint64_t)dim.x * dim.y * dim.z, blocks = (uint64_t)grid.x * grid.y * grid.z;
    if (!threads || threads > MAX_THREADS || !blocks || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535) {
        last_error = cudaErrorInvalidConfiguration;
        return;
    }
    watch_faults();
    device open;
    const bool fresh = !own;
    if (fresh) own = new_block();
    B = own;
    if (fresh) make_stacks(MAX_THREADS);
    B->threads = (unsigned)threads;
    B->warps = (B->threads + LANES - 1) / LANES;
    B->entry = entry;
    B->arg = arg;
    B->dim = {dim.x, dim.y, dim.z};
    B->grid = {grid.x, grid.y, grid.z};
    for (unsigned i = 0; i < B->threads; i++) {
        B->f[i].tid = {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y};
        B->f[i].number = i;
    }
    for (uint64_t k = 0; k < blocks; k++) run_block(B->order == BACKWARD ? blocks - 1 - k : k);
#if CUEMU_TSAN
    __tsan_acquire(&B->end_sync);
#endif
    B = nullptr;
    F = nullptr;
}
}

/* ---- the host's calls */
using namespace cuemu;
cudaError_t cudaMalloc(void **p, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + 63) / 64 * 64,
                 pages = (room + page - 1) / page * page;
    std::lock_guard<std::recursive_mutex> hold(lock);
    *p = nullptr;
    watch_faults();
    for (region &r : regions) {
        if (r.map) continue;
        void *map = mmap(nullptr, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) return cudaErrorMemoryAllocation;
        r = {(unsigned char *)map, (unsigned char *)map + page + pages - room, pages + 2 * page, bytes};
        reach(r, true);
        memset(r.data, NOT_SET, room);
        if (strict() && !inside) reach(r, false);
        *p = r.data;
        return cudaSuccess;
    }
    return cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    for (region &r : regions) {
        if (!r.map || r.data != p) continue;
        munmap(r.map, r.mapped);
        r = {nullptr, nullptr, 0, 0};
        return cudaSuccess;
    }
    return p ? cudaErrorInvalidValue : cudaSuccess;
}
/* Device addresses that a copy names must lie in one allocation. */
static bool on_device(const void *p, size_t bytes) {
    const unsigned char *at = (const unsigned char *)p;
    for (const region &r : regions)
        if (r.map && at >= r.data && at <= r.data + r.bytes && bytes <= (size_t)(r.data + r.bytes - at)) return true;
    return false;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    if ((kind != cudaMemcpyDeviceToHost && !on_device(to, bytes)) ||
        (kind != cudaMemcpyHostToDevice && !on_device(from, bytes)))
        return last_error = cudaErrorInvalidValue;
    device open;
    memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
    if (!on_device(to, bytes)) return last_error = cudaErrorInvalidValue;
    device open;
    memset(to, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() {
    const cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}
const char *cudaGetErrorString(cudaError_t e) {
    switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration of a launch";
    default: return "invalid argument";
    }
}
