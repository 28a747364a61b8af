/* What `gcc2nn calibrate` runs on this machine: measures one number of its row.
 *
 *     measure NAME MILLISECONDS
 *
 * prints the number, in the unit that docs/machine.md gives, or `none` where it cannot be measured here. Cycles are
 * told by a chain of additions of whole numbers, of which every core does one a cycle, beside each sample: so how fast
 * the clock goes makes no difference. A sample takes ten microseconds or more; the median of all counts.
 *
 * VECTOR_BYTES and REGISTERS are the row's; VECTOR_BYTES 4: there are no vectors. */
#define _GNU_SOURCE
#include "nn_pool.c"
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if VECTOR_BYTES > 4
typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef float vec;
#endif
enum { LANES = VECTOR_BYTES / 4, KB = 1 << 10, MB = 1 << 20, CHAIN = 1 << 14, MOST = 1 << 12 };

/* ---- samples */
static double now(void) { /* nanoseconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static double deadline;
static void chain(void) {
    uint64_t a = 1, b = 2;
    for (int k = 0; k < CHAIN / 8; k++) {
#define STEP                                                                                                           \
    a += b, b += a;                                                                                                    \
    __asm__ volatile("" : "+r"(a), "+r"(b));
        STEP STEP STEP STEP
#undef STEP
    }
}
static int by_size(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}
/* Cycles of `run` that a part of all samples, `below`, stays under; in `part` of the time that is left. */
static double cycles_below(double below, void (*run)(void *), void *env, double part) {
    static double v[MOST];
    const double end = now() + part * (deadline - now());
    int n = 0;
    run(env), chain();
    do {
        const double t0 = now();
        chain();
        const double t1 = now();
        run(env);
        v[n++] = (now() - t1) / (t1 - t0) * CHAIN;
    } while (n < MOST && (n < 3 || now() < end));
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[(int)(below * n)];
}
static double cycles(void (*run)(void *), void *env, double part) { return cycles_below(0.5, run, env, part); }

/* ---- sizes: of the first CPU's caches, as Linux tells; 0: it does not */
static long of_cache(int level, const char *what) {
    for (int k = 0; k < 8; k++) {
        char path[128], type[16] = "", unit = 0;
        long at = 0, value = 0;
        static const char form[] = "/sys/devices/system/cpu/cpu0/cache/index%d/%s";
        FILE *f;
        snprintf(path, sizeof path, form, k, "type");
        if (!(f = fopen(path, "r"))) return 0;
        if (fscanf(f, "%15s", type) != 1) *type = 0;
        fclose(f), snprintf(path, sizeof path, form, k, "level");
        if ((f = fopen(path, "r"))) {
            if (fscanf(f, "%ld", &at) != 1) at = 0;
            fclose(f);
        }
        if (at != level || *type == 'I') continue;
        snprintf(path, sizeof path, form, k, what);
        if (!(f = fopen(path, "r"))) return 0;
        if (fscanf(f, "%ld%c", &value, &unit) < 1) value = 0;
        fclose(f);
        return value * (unit == 'K' ? KB : unit == 'M' ? MB : 1);
    }
    return 0;
}
static long first(void) { return of_cache(1, "size") ? of_cache(1, "size") : 32 * KB; }
static long second(void) { return of_cache(2, "size") ? of_cache(2, "size") : 512 * KB; }

/* ---- operations: chains of OP side by side, many enough that the units are never short of work */
static volatile float numbers[] = {0.5f, 0.25f}; /* which the compiler does not know */
/* Long enough that a core which starts wide vectors slowly has got used to them. */
enum { TURNS = 4096, WIDE = REGISTERS > 16 ? 20 : 10 };
static volatile float kept;
static float lane(vec v) {
#if VECTOR_BYTES > 4
    return v[0];
#else
    return v;
#endif
}
static vec all(float x) { return (vec){0} + x; }
#define ALONE(name, expression)                                                                                        \
    static void name##_alone(void *env) {                                                                              \
        const vec b = all(numbers[0]), c = all(numbers[1]);                                                            \
        vec a = c;                                                                                                     \
        (void)env, (void)b;                                                                                            \
        for (int k = 0; k < TURNS; k++) { _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) a = expression; }        \
        kept = lane(a);                                                                                                \
    }
#define MANY(name, expression)                                                                                         \
    static void name##_many(void *env) {                                                                               \
        const vec b = all(numbers[0]), c = all(numbers[1]);                                                            \
        vec sums[WIDE];                                                                                                \
        (void)env, (void)b;                                                                                            \
        for (int i = 0; i < WIDE; i++) sums[i] = c;                                                                    \
        for (int k = 0; k < TURNS; k++) {                                                                              \
            _Pragma("GCC unroll 20") for (int i = 0; i < WIDE; i++) {                                                  \
                const vec a = sums[i];                                                                                 \
                sums[i] = expression;                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; i < WIDE; i++) kept = lane(sums[i]);                                                           \
    }
ALONE(multiply_add, a *b + c)
ALONE(add, a + c)
MANY(multiply_add, a *b + c)
MANY(add, a + c)
MANY(divide, c / a)

static void loads(void *env) {
    const volatile vec *p = env;
    for (int k = 0; k < TURNS; k++) { _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++)(void) p[i]; }
}
static void divisions(void *env) {
    const volatile int64_t *by = env;
    const int64_t d = *by;
    int64_t x = INT64_C(1) << 40;
    for (int k = 0; k < TURNS; k++) {
        x = x / d + (INT64_C(1) << 40);
        __asm__ volatile("" : "+r"(x));
    }
}

/* ---- bytes */
/* A tile as kernels have them: rows of one operand, and a panel of the other that comes from `set` bytes. */
enum { ROWS = REGISTERS >= 32 && VECTOR_BYTES > 4 ? 12 : VECTOR_BYTES > 4 ? 6 : 4, PAIR = 2 * VECTOR_BYTES };
struct walk {
    vec *from;
    size_t bytes, at, chunk; /* of the set; where the next chunk begins; of a chunk, CHUNKS are a sample */
    const float *rows;
    void (*run)(struct walk *w); /* a chunk */
};
enum { CHUNKS = 32 };
static vec *next_chunk(struct walk *w) {
    vec *v = (vec *)(void *)((char *)w->from + w->at);
    w->at = w->at + 2 * w->chunk <= w->bytes ? w->at + w->chunk : 0;
    return v;
}
static void tile(struct walk *w) {
    const vec *panel = next_chunk(w);
    vec sums[ROWS][2];
    const float *row = w->rows;
    memset(sums, 0, sizeof sums);
    for (size_t k = w->chunk / PAIR; k; k--, panel += 2, row += ROWS) {
        const vec left = panel[0], right = panel[1];
        _Pragma("GCC unroll 12") for (int r = 0; r < ROWS; r++) {
            sums[r][0] += left * row[r];
            sums[r][1] += right * row[r];
        }
    }
    for (int r = 0; r < ROWS; r++) kept = lane(sums[r][0] + sums[r][1]);
}
static void stream(struct walk *w) {
    const vec *v = next_chunk(w);
    vec sums[8];
    memset(sums, 0, sizeof sums);
    for (size_t k = w->chunk / sizeof *v / 8; k; k--, v += 8) {
        _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) sums[i] += v[i];
    }
    for (int i = 0; i < 8; i++) kept = lane(sums[i]);
}
static void update(struct walk *w) {
    vec *v = next_chunk(w), c = all(numbers[0]);
    for (size_t k = w->chunk / sizeof *v / 8; k; k--, v += 8) {
        _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) v[i] += c;
    }
}
static void *memory(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 4096, bytes) != 0) exit(4);
    for (size_t k = 0; k < bytes / sizeof(float); k++) ((float *)p)[k] = 1e-3f; /* pages of its own, normal numbers */
    return p;
}
/* Once round the set first, so that it is where it stays. */
static void walk(void *env) {
    struct walk *w = env;
    for (int k = 0; k < CHUNKS; k++) w->run(w);
}
static double walk_cycles(struct walk *w, size_t bytes, double part) {
    w->bytes = bytes, w->at = 0;
    for (size_t k = 0; k < bytes; k += w->chunk) w->run(w);
    return cycles(walk, w, part) / CHUNKS / (double)w->chunk;
}
static double beyond(size_t bytes) {
    struct walk w = {.chunk = (size_t)first() / 3 / PAIR, .run = tile};
    if (w.chunk > 256) w.chunk = 256; /* a row's operand is small beside its panel */
    w.rows = memory(w.chunk * ROWS * sizeof(float));
    w.chunk *= PAIR;
    w.from = memory(bytes);
    const double near = walk_cycles(&w, w.chunk, 0.4);
    return walk_cycles(&w, bytes, 1) - near;
}
static double of_stream(void (*run)(struct walk *), size_t bytes, size_t chunk) {
    struct walk w = {.from = memory(bytes), .chunk = chunk, .run = run};
    return walk_cycles(&w, bytes, 1);
}
static size_t all_caches(void) {
    const long last = of_cache(4, "size") ? of_cache(4, "size") : of_cache(3, "size");
    const size_t free_now = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = 2 * (size_t)last;
    if (bytes < 64 * (size_t)MB) bytes = 64 * (size_t)MB;
    if (bytes > 512 * (size_t)MB) bytes = 512 * (size_t)MB;
    return bytes > free_now / 4 ? free_now / 4 / MB * MB : bytes;
}

/* ---- threads */
static void nothing(const void *shared, ptrdiff_t begin, ptrdiff_t end) { (void)shared, (void)begin, (void)end; }
static void fork_once(void *env) {
    nn_pool *p = env;
    p->threads.run(&p->threads, p->count, 1, nothing, NULL);
}
/* The k-th CPU that we may use is the thread's alone: a thread would take the CPU of who gives the loop, and wait for
 * it, where others keep the system busy. false: there is no such CPU. */
static int stay_on(pthread_t thread, int k) {
#ifdef __linux__
    static cpu_set_t may;
    cpu_set_t one;
    if (!CPU_COUNT(&may) && sched_getaffinity(0, sizeof may, &may) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && k-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            return pthread_setaffinity_np(thread, sizeof one, &one) == 0;
        }
    return 0;
#else
    (void)thread;
    return k < sysconf(_SC_NPROCESSORS_ONLN);
#endif
}
static double fork_cycles(void) {
    static nn_pool pool;
    double c = 0;
    int threads = 1;
    while (threads < 4 && stay_on(pthread_self(), threads)) threads++;
    stay_on(pthread_self(), 0);
    if (threads < 2 || nn_pool_start(&pool, threads) < 2) return 0;
    for (int k = 1; k < pool.count; k++) stay_on(pool.workers[k].thread, k);
    c = cycles_below(0.25, fork_once, &pool, 1); /* whose CPU is busy comes late: that is not the fork's */
    nn_pool_stop(&pool);
    return c;
}

static double measure(const char *name) {
    static vec line[16];
    static volatile int64_t by = 7;
#define IS(s) (strcmp(name, s) == 0)
    if (IS("l1.bytes")) return (double)of_cache(1, "size");
    if (IS("l1.ways")) return (double)of_cache(1, "ways_of_associativity");
    if (IS("l2.bytes")) return (double)of_cache(2, "size");
    if (IS("line")) return (double)of_cache(1, "coherency_line_size");
    if (IS("fork")) return fork_cycles();
    if (IS("l1.byte")) return beyond((size_t)second() / 2);
    if (IS("l2.byte")) return beyond((size_t)second() * 4);
    if (IS("memory_byte")) return of_stream(stream, all_caches(), 64 * KB);
    if (IS("partial_sum_byte")) return of_stream(update, (size_t)second() / 2, 16 * KB) / 2;
    if (IS("multiply_add.latency")) return cycles(multiply_add_alone, NULL, 1) / (8 * TURNS);
    if (IS("multiply_add.starts")) return WIDE * TURNS / cycles(multiply_add_many, NULL, 1);
    if (IS("add.latency")) return cycles(add_alone, NULL, 1) / (8 * TURNS);
    if (IS("add.starts")) return WIDE * TURNS / cycles(add_many, NULL, 1);
    if (IS("load.starts")) return 16 * TURNS / cycles(loads, line, 1);
    if (IS("divide.starts")) return WIDE * TURNS / cycles(divide_many, NULL, 1);
    if (IS("division")) return cycles(divisions, (void *)(uintptr_t)&by, 1) / TURNS - 1;
    exit(2);
}
/* Not to be taken to another CPU, whose caches are others. */
static void stay_here(void) {
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
#endif
}
int main(int argc, char **argv) {
    if (argc != 3) return 2;
    deadline = now() + 1e6 * atof(argv[2]);
    if (strcmp(argv[1], "fork") != 0) stay_here();
    const double value = measure(argv[1]);
    if (value == 0) puts("none");
    else printf("%.17g\n", value);
    return 0;
}
