/* Clocks around the kernels of @NAME@, for `gcc2nn bench --per-kernel` and `profile`: @NAME@_main.c says when a run begins,
 * @NAME@_timed.c when a kernel does and has ended. What each call took is written to calls.txt in the end: the number
 * of the kernel, nanoseconds, and when it began, where a run begins -1 and 0, below a line with the cycles of a
 * nanosecond, the nanoseconds that a kernel takes which does nothing, and how many events are counted, with their names;
 * 0: with the reason. Of so many events the counts stand behind each call. They are those of the thread that runs the
 * model, outside of the system; with IO_COUNTERS, on Linux. */
#define _DEFAULT_SOURCE 1
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined IO_COUNTERS && defined __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#define IO_EVENTS 5
#else
#define IO_EVENTS 0
#endif

void io_clock_run(void);
void io_clock_begin(void);
void io_clock_end(int kernel);

struct timed_call {
    int kernel;
    double ns, begun;
    uint64_t counts[IO_EVENTS + 1];
};
static struct timed_call *calls;
static size_t count, room;
static double begun, first, cycles_per_ns, empty;

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

/* ---- events: all in one group, which is read at once; what the machine or the system does not count is left out */
static int nevents;
static const char *event_names[IO_EVENTS + 1], *no_events = "nobody asked for them";
static uint64_t before[IO_EVENTS + 1];
#if IO_EVENTS
static int leader = -1;
static void open_events(void) {
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t config;
    } rows[IO_EVENTS] = {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                         {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                         {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
                         {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
                         {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};
    no_events = "";
    for (int k = 0; k < IO_EVENTS; k++) {
        struct perf_event_attr a;
        memset(&a, 0, sizeof a);
        a.size = sizeof a, a.type = rows[k].type, a.config = rows[k].config;
        a.read_format = PERF_FORMAT_GROUP, a.exclude_kernel = 1, a.exclude_hv = 1;
        const long fd = syscall(SYS_perf_event_open, &a, 0, -1, leader, 0UL);
        if (fd < 0 && k == 0)
            no_events = errno == ENOENT ? "this machine shows no counters of its CPU, like many virtual ones"
                        : errno == EACCES || errno == EPERM
                            ? "the system does not allow it (sysctl kernel.perf_event_paranoid, or the container)"
                            : strerror(errno);
        if (fd < 0) continue;
        if (leader < 0) leader = (int)fd;
        event_names[nevents++] = rows[k].name;
    }
}
static void read_events(uint64_t *to) {
    uint64_t got[1 + IO_EVENTS];
    if (!nevents) return;
    if (read(leader, got, sizeof got) <= 0) memset(got, 0, sizeof got);
    memcpy(to, got + 1, (size_t)nevents * sizeof *to);
}
#else
static void open_events(void) {
#ifdef IO_COUNTERS
    no_events = "this system has no perf_event_open";
#endif
}
static void read_events(uint64_t *to) { (void)to; }
#endif
static void print_calls(void) {
    FILE *f = fopen("calls.txt", "w");
    if (!f) return;
    fprintf(f, "%.4f %.1f %d", cycles_per_ns, empty, nevents);
    for (int k = 0; k < nevents; k++) fprintf(f, " %s", event_names[k]);
    fprintf(f, " %s\n", no_events);
    for (size_t k = 0; k < count; k++) {
        fprintf(f, "%d %.0f %.0f", calls[k].kernel, calls[k].ns, calls[k].begun - first);
        for (int j = 0; j < nevents; j++) fprintf(f, " %llu", (unsigned long long)calls[k].counts[j]);
        fprintf(f, "\n");
    }
    fclose(f);
}
static void no_more(size_t room_wanted) {
    fprintf(stderr, "@NAME@: no memory for the times of %lu calls\n", (unsigned long)room_wanted);
    exit(2);
}
static struct timed_call *add_call(int kernel, double since, double until) {
    if (count == room) {
        room = room ? 2 * room : 4096;
        calls = (struct timed_call *)realloc(calls, room * sizeof *calls);
        if (!calls) no_more(room);
    }
    memset(&calls[count], 0, sizeof *calls);
    calls[count].kernel = kernel, calls[count].begun = since, calls[count].ns = until - since;
    return &calls[count++];
}
static void prepare(void) {
    cycles_per_ns = measured_cycles();
    empty = 1e9;
    for (int k = 0; k < 100; k++) {
        const double start = now(), took = now() - start;
        if (took < empty) empty = took;
    }
    open_events();
    atexit(print_calls);
    first = now();
}
void io_clock_run(void) {
    if (!calls) prepare();
    const double t = now();
    add_call(-1, t, t);
}
void io_clock_begin(void) {
    read_events(before);
    begun = now();
}
void io_clock_end(int kernel) {
    const double ended = now();
    struct timed_call *c = add_call(kernel, begun, ended);
    read_events(c->counts);
    for (int k = 0; k < nevents; k++) c->counts[k] -= before[k];
}
