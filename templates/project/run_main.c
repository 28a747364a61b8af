/* Runs @NAME@ on tensors from files and writes its outputs to files; with --runs it prints the time of each run in
 * nanoseconds, one a line. What `gcc2nn run`, `verify` and `bench` use, also on other machines.
 *
 * usage: @NAME@_main [--runs R] [--warmup W] [--weights FILE] [--symbol NAME=VALUE]... [--without SETS] [--variant N] INPUT... OUTPUT...
 * --without: instruction sets that count as missing on this CPU, "avx512f avx2". --variant: which one must have been
 * chosen then, by number; exit status 4: another one was.
 *
 * A tensor file: "NNT1", u32 ONNX type, u32 rank, u32 0, i64 dims, elements (one in each byte for types below 8 bits;
 * strings: u64 length and bytes, for each). Little endian. */
#define _DEFAULT_SOURCE 1
#ifdef __linux__
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <unistd.h>
#endif
#include "@NAME@_io.h"

static void fail(const char *what, const char *path) {
    fprintf(stderr, "@NAME@_main: %s: %s\n", path, what);
    exit(2);
}

/* ---- tensor files */
/* The file stays in memory: strings point into it. */
static struct io_tensor read_tensor(const char *path, struct io_memory *memory) {
    struct io_tensor t;
    size_t at;
    uint32_t head[4];
    const unsigned char *file = (const unsigned char *)io_read_file(path, memory);
    const size_t size = memory->size;
    memset(&t, 0, sizeof t);
    if (size < sizeof head) fail("too short", path);
    memcpy(head, file, sizeof head);
    if (memcmp(file, "NNT1", 4) != 0 || head[2] > GCC2NN_RANK) fail("not a tensor file", path);
    t.type = (int)head[1];
    t.rank = (int)head[2];
    at = sizeof head + 8 * (size_t)t.rank;
    if (size < at) fail("too short", path);
    memcpy(t.dims, file + sizeof head, 8 * (size_t)t.rank);
    size_t n = 1;
    for (int k = 0; k < t.rank; k++) {
        if (t.dims[k] < 0 || (t.dims[k] > 0 && n > ((size_t)-1) / 32 / (size_t)t.dims[k])) fail("bad dimensions", path);
        n *= (size_t)t.dims[k];
    }
    t.data = io_alloc(n * io_element(t.type));
    if (t.type != 8) {
        if (size - at != n * io_element(t.type)) fail("has the wrong length", path);
        memcpy(t.data, file + at, n * io_element(t.type));
        return t;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t length;
        if (size - at < 8) fail("too short", path);
        memcpy(&length, file + at, 8);
        at += 8;
        if (length > size - at) fail("too short", path);
        ((nn_str *)t.data)[i].p = (const char *)file + at;
        ((nn_str *)t.data)[i].n = (size_t)length;
        at += (size_t)length;
    }
    return t;
}
static void write_tensor(const struct io_tensor *t, const char *path) {
    FILE *f = fopen(path, "wb");
    uint32_t head[4] = {0, (uint32_t)t->type, (uint32_t)t->rank, 0};
    const size_t n = (size_t)io_count(t);
    if (!f) fail("cannot be written", path);
    memcpy(head, "NNT1", 4);
    int ok = fwrite(head, sizeof head, 1, f) == 1 && fwrite(t->dims, 8, (size_t)t->rank, f) == (size_t)t->rank;
    if (t->type != 8 && n > 0) ok = ok && fwrite(t->data, io_element(t->type), n, f) == n;
    for (size_t i = 0; t->type == 8 && i < n; i++) {
        const nn_str s = ((const nn_str *)t->data)[i];
        const uint64_t length = s.n;
        ok = ok && fwrite(&length, 8, 1, f) == 1 && fwrite(s.p, 1, s.n, f) == s.n;
    }
    if (fclose(f) != 0 || !ok) fail("cannot be written", path);
}
/* An output of known size can lie in its file while the model runs: then nobody needs memory for all of them at once,
 * of which there are as many as nodes when each is compared. */
struct io_file { unsigned char *map; size_t size; };
static void *open_output(const struct io_session *s, int k, const char *path, struct io_file *file) {
    file->map = NULL;
#ifdef __linux__
    struct io_tensor t;
    if (!io_output(k, s->symbols, &t)) return NULL;
    const uint32_t head[4] = {0x31544e4e, (uint32_t)t.type, (uint32_t)t.rank, 0};    /* "NNT1" */
    const size_t at = sizeof head + 8 * (size_t)t.rank;
    if (t.type == 8 || io_count(&t) == 0) return NULL;
    file->size = at + (size_t)io_count(&t) * io_element(t.type);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)file->size) == 0) {
        void *map = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) file->map = (unsigned char *)map;
    }
    if (fd >= 0) close(fd);
    if (!file->map) return NULL;
    memcpy(file->map, head, sizeof head);
    memcpy(file->map + sizeof head, t.dims, 8 * (size_t)t.rank);
    return file->map + at;
#else
    (void)s, (void)k, (void)path;
    return NULL;
#endif
}
static void close_output(struct io_session *s, int k, const char *path, struct io_file *file) {
    if (!file->map) {
        write_tensor(&s->outputs[k], path);
        return;
    }
#ifdef __linux__
    munmap(file->map, file->size);
#endif
    s->results[k].data = s->outputs[k].data = NULL;
}

/* ---- symbols */
static void set_symbol(struct io_session *s, unsigned char *known, const char *text) {
    for (int k = 0; k < IO_SYMBOLS; k++) {
        const size_t n = strlen(io_model()->symbol[k].name);
        if (strncmp(text, io_model()->symbol[k].name, n) != 0 || text[n] != '=') continue;
        s->symbols[k] = strtoll(text + n + 1, NULL, 10);
        known[k] = 1;
        return;
    }
    fail("is not a symbol of the model", text);
}
static void find_symbols(struct io_session *s, unsigned char *known, char **paths) {
    for (int k = 0; k < IO_INPUTS; k++)
        for (int d = 0; d < s->inputs[k].rank; d++) {
            const int64_t y = d < io_model()->input[k].rank ? io_model()->input[k].dims[d].symbol : -1;
            if (y < 0) continue;
            if (!known[y]) s->symbols[y] = s->inputs[k].dims[d];
            known[y] = 1;
        }
    for (int k = 0; k < IO_SYMBOLS; k++)
        if (!known[k]) s->symbols[k] = io_model()->symbol[k].typical;
    for (int k = 0; k < IO_INPUTS; k++) {
        struct io_tensor want;
        memset(&want, 0, sizeof want);
        io_input(k, s->symbols, &want);
        int same = want.type == s->inputs[k].type && want.rank == s->inputs[k].rank;
        for (int d = 0; d < want.rank && same; d++) same = want.dims[d] == s->inputs[k].dims[d];
        if (!same) fail("does not have the type and shape of the model's input", paths[k]);
    }
}

/* ---- marks
 * Between these two an emulator counts instructions (count.c): functions of their own, called through pointers. */
static volatile int io_mark;
static void io_mark_begin(void) { io_mark = 1; }
static void io_mark_end(void) { io_mark = 2; }
static void (*volatile io_begin)(void) = io_mark_begin;
static void (*volatile io_end)(void) = io_mark_end;
#ifdef IO_TIMED
void io_clock_run(void); /* with clocks around kernels: a run begins */
#else
#define io_clock_run() ((void)0)
#endif

int main(int argc, char **argv) {
    static struct io_session s;
    static struct io_memory files[IO_INPUTS + 1];
    static struct io_file results[IO_OUTPUTS + 1];
    unsigned char known[IO_SYMBOLS + 1] = {0};
    int at = 1, runs = 0, warmup = 0, status = NN_OK, variant = -1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--runs") == 0) runs = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--warmup") == 0) warmup = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--weights") == 0) io_read_file(argv[at + 1], &s.weights);
        else if (strcmp(argv[at], "--variant") == 0) variant = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--symbol") == 0) set_symbol(&s, known, argv[at + 1]);
        else if (strcmp(argv[at], "--without") == 0) s.config.without = argv[at + 1];
@RUN_THREADS@        else fail("is not an option", argv[at]);
    }
    if (argc - at != IO_INPUTS + IO_OUTPUTS) {
        fprintf(stderr, "usage: %s [--runs R] [--warmup W] [--weights FILE] [--symbol NAME=VALUE] %d inputs, %d outputs\n", argv[0], IO_INPUTS, IO_OUTPUTS);
        return 2;
    }
    for (int k = 0; k < IO_INPUTS; k++) s.inputs[k] = read_tensor(argv[at + k], &files[k]);
    find_symbols(&s, known, argv + at);
    for (int k = 0; k < IO_OUTPUTS && runs == 0; k++)
        s.outputs[k].data = open_output(&s, k, argv[at + IO_INPUTS + k], &results[k]);
    status = io_open(&s);
    if (variant >= 0 && (status == NN_ETARGET || (status == NN_OK && io_model()->variant(s.context) != variant))) {
        fprintf(stderr, "@NAME@: the CPU cannot run variant %d\n", variant);
        return 4;
    }
    for (int run = -warmup; run < (runs > 0 ? runs : 1) && status == NN_OK; run++) {
        io_clock_run();
        const double start = io_seconds();
        io_begin();
        status = io_run_once(&s);
        io_end();
        if (run >= 0 && runs > 0) printf("%.0f\n", (io_seconds() - start) * 1e9);
    }
    if (status != NN_OK) return io_failed(&s, status);
    for (int k = 0; k < IO_OUTPUTS; k++) close_output(&s, k, argv[at + IO_INPUTS + k], &results[k]);
    io_finish(&s);
    for (int k = 0; k < IO_INPUTS; k++) io_memory_free(&files[k]);
    return 0;
}
