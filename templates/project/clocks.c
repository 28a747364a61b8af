/* Clocks around the kernels of @NAME@, for `gcc2nn bench --per-kernel`: @NAME@_main.c says when a run begins,
 * @NAME@_timed.c when a kernel does and has ended. What each call took is written to calls.txt in the end: the number
 * of the kernel and nanoseconds, where a run begins -1 and 0, below a line with the cycles of a nanosecond, and the
 * nanoseconds that a kernel takes which does nothing. */
#define _DEFAULT_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void io_clock_run(void);
void io_clock_begin(void);
void io_clock_end(int kernel);

struct timed_call {
    int kernel;
    double ns;
};
static struct timed_call *calls;
static size_t count, room;
static double begun, cycles_per_ns, empty;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
/* Additions that wait for one another take a cycle each. */
#ifdef __GNUC__
#define ADD   x += one; __asm__ volatile("" : "+r"(x));
#define ADD_8 ADD ADD ADD ADD ADD ADD ADD ADD
static double measured_cycles(void) {
    double least = 0;
    unsigned long x = 0, one = 1;
    __asm__ volatile("" : "+r"(one));
    for (int round = 0; round < 9; round++) {
        const double start = now();
        for (int k = 0; k < 4000; k++) { ADD_8 ADD_8 ADD_8 ADD_8 }
        const double took = now() - start;
        if (least == 0 || took < least) least = took;
    }
    return least > 0 ? 4000 * 32 / least : 0;
}
#else
static double measured_cycles(void) { return 0; }
#endif
static void print_calls(void) {
    FILE *f = fopen("calls.txt", "w");
    if (!f) return;
    fprintf(f, "%.4f %.1f\n", cycles_per_ns, empty);
    for (size_t k = 0; k < count; k++) fprintf(f, "%d %.0f\n", calls[k].kernel, calls[k].ns);
    fclose(f);
}
static void no_more(size_t room_wanted) {
    fprintf(stderr, "@NAME@: no memory for the times of %lu calls\n", (unsigned long)room_wanted);
    exit(2);
}
static void add_call(int kernel, double ns) {
    if (count == room) {
        room = room ? 2 * room : 4096;
        calls = (struct timed_call *)realloc(calls, room * sizeof *calls);
        if (!calls) no_more(room);
    }
    calls[count].kernel = kernel;
    calls[count++].ns = ns;
}
static void prepare(void) {
    cycles_per_ns = measured_cycles();
    empty = 1e9;
    for (int k = 0; k < 100; k++) {
        const double start = now(), took = now() - start;
        if (took < empty) empty = took;
    }
    atexit(print_calls);
}
void io_clock_run(void) {
    if (!calls) prepare();
    add_call(-1, 0);
}
void io_clock_begin(void) { begun = now(); }
void io_clock_end(int kernel) { add_call(kernel, now() - begun); }
