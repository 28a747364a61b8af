/* Runs a compiled model on tensors: through files in its folder and the program NAME_main, on this machine or in the
 * target's emulator. See build.h; the file format is described in templates/project/run_main.c. */
#include "compiler/build.h"
#include "compiler/import/file.h"
#include "ir/base/checked.h"
#include "ir/base/memory.h"
#include "ir/base/workdir.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 16,
    MAX_RANK = 32,
    OTHER_VARIANT = 4,
    NO_MEMORY = 5
}; /* the last two are exit statuses of
    * programs */

int harness_by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put_u32(struct text *t, uint32_t v) {
    unsigned char b[4] = {(unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 24)};
    text_addn(t, (const char *)b, 4);
}
static void put_u64(struct text *t, uint64_t v) {
    put_u32(t, (uint32_t)v);
    put_u32(t, (uint32_t)(v >> 32));
}
bool harness_file(struct ctx *c, const char *path, const struct text *head, const void *data, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write_all(fd, head->s, head->n) && write_all(fd, data, n);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) error = errno, ok = false;
    if (!ok) diag(&c->diags, DIAG_ERROR, E_WRITE, "cannot write %s: %s", diag_quote(&c->arena, path), strerror(error));
    return ok;
}
static const char less_memory[] = "inputs and results must fit in memory with the arena: give open sizes smaller "
                                  "values, with --dim or --data, or run it where there is more";
static bool has_room(const struct harness *h, int64_t bytes, const char *path) {
    const char *slash = strrchr(path, '/');
    if (bytes < 0 || memory_can((size_t)bytes)) return true;
    diag(&h->c->diags, DIAG_ERROR, E_ENV, "there is no memory for the %lld bytes of %s", (long long)bytes,
         diag_quote(&h->c->arena, slash ? slash + 1 : path));
    diag_help(&h->c->diags, "%s", less_memory);
    return false;
}
static bool write_tensor(const struct harness *h, const char *path, const struct tensor *t) {
    struct text head = {0};
    int64_t count = tensor_count(t);
    size_t n = t->type == STR ? 0 : (size_t)count * (size_t)dtype_bytes(t->type);
    if (!has_room(h, (int64_t)n, path)) return false;
    void *data = memory_new(n);
    text_add(&head, "NNT1");
    put_u32(&head, (uint32_t)dtype_onnx(t->type));
    put_u32(&head, (uint32_t)t->rank);
    put_u32(&head, 0);
    for (int k = 0; k < t->rank; k++) put_u64(&head, (uint64_t)t->dims[k]);
    for (int64_t i = 0; i < count && t->type == STR; i++) {
        const struct str_elem *s = &t->strs[t->source == TS_SPLAT ? 0 : i];
        put_u64(&head, s->n);
        text_addn(&head, s->p, s->n);
    }
    if (t->type != STR) tensor_unpack(t, data);
    bool ok = harness_file(h->c, path, &head, data, n);
    free(data);
    text_free(&head);
    return ok;
}

static uint64_t get(const uint8_t *p, int n) {
    uint64_t v = 0;
    for (int k = n; k--;) v = v << 8 | p[k];
    return v;
}
static bool read_strings(struct arena *a, struct tensor *t, const uint8_t *p, const uint8_t *end) {
    int64_t n = tensor_count(t);
    struct str_elem *v = NEWN(a, struct str_elem, n + 1);
    for (int64_t i = 0; i < n; i++) {
        if (end - p < 8 || get(p, 8) > (uint64_t)(end - p - 8)) return false;
        v[i].n = (size_t)get(p, 8);
        v[i].p = arena_copy(a, p + 8, v[i].n);
        p += 8 + v[i].n;
    }
    t->strs = v;
    return p == end;
}
/* Elements below 8 bits are read as one byte each and packed here. */
static bool read_elements(struct arena *a, struct tensor *t, const uint8_t *p, const uint8_t *end) {
    int64_t n = tensor_count(t);
    if (t->type == STR) return read_strings(a, t, p, end);
    if (end - p != n * dtype_bytes(t->type)) return false;
    tensor_pack(t, p);
    return true;
}
struct tensor *harness_tensor(const struct harness *h, struct arena *a, const char *path) {
    struct mapped_file f = {0};
    if (!file_map(&h->c->diags, path, &f)) return NULL;
    struct tensor *t = NULL;
    const uint8_t *p = f.bytes, *end = p + f.size;
    int64_t dims[MAX_RANK];
    uint32_t rank = f.size >= HEAD_BYTES ? (uint32_t)get(p + 8, 4) : MAX_RANK + 1;
    bool ok = rank <= MAX_RANK && !memcmp(p, "NNT1", 4) && (uint64_t)(end - p) >= HEAD_BYTES + 8 * (uint64_t)rank;
    for (uint32_t k = 0; k < rank && ok; k++) dims[k] = (int64_t)get(p + HEAD_BYTES + 8 * k, 8);
    enum dtype type = ok ? dtype_by_onnx((int)get(p + 4, 4)) : NONE;
    if (ok && !has_room(h, tensor_bytes(type, dims, (int)rank), path)) {
        file_unmap(&f);
        return NULL;
    }
    ok =
        ok && (t = tensor_new(a, type, dims, (int)rank)) != NULL && read_elements(a, t, p + HEAD_BYTES + 8 * rank, end);
    if (!ok) diag(&h->c->diags, DIAG_ERROR, E_FILE, "%s is not a tensor file", diag_quote(&h->c->arena, path));
    file_unmap(&f);
    return ok ? t : NULL;
}

struct tensor *harness_output(const struct harness *h, struct arena *a, int k) {
    return harness_tensor(h, a, format(h->c, "%s/out%d.nnt", h->w->folder, k));
}

/* Signals that correct code never raises; an emulator or a shell in between may add 128 to the signal's number. */
static bool crashed(int status) { return status == 128 + SIGSEGV || status == 128 + SIGBUS || status == 128 + SIGFPE; }
static void program_failed(const struct harness *h, const struct outcome *o) {
    const char *said = o->err.s ? o->err.s : "";
    if (!o->started) diag(&h->c->diags, DIAG_ERROR, E_ENV, "%s cannot be started", diag_quote(&h->c->arena, h->exe));
    else if (o->timed_out) diag(&h->c->diags, DIAG_ERROR, E_FAULT, "the compiled model did not finish in time");
    else if (o->status == NO_MEMORY) {
        diag(&h->c->diags, DIAG_ERROR, E_ENV, "the compiled model: %.*s", (int)strcspn(said, "\n"), said);
        diag_help(&h->c->diags, "%s", less_memory);
    } else
        diag(&h->c->diags, DIAG_ERROR, crashed(o->status) ? E_BROKEN : E_FAULT,
             "the compiled model ended with status %d: %.*s", o->status, (int)strcspn(said, "\n"), said);
}
static bool read_times(const struct harness *h, const char *s, int runs, double *times) {
    for (int k = 0; k < runs; k++) {
        char *end;
        times[k] = strtod(s, &end);
        if (end == s) {
            diag(&h->c->diags, DIAG_ERROR, E_FAULT, "the compiled model printed %d times instead of %d", k, runs);
            return false;
        }
        s = end;
    }
    return true;
}
/* One line of count.txt for each run, warm-up runs first. */
static bool read_counts(const struct harness *h, int runs, int warmup) {
    char *path = format(h->c, "%s/count.txt", h->w->folder);
    FILE *f = fopen(path, "r");
    unsigned long long v;
    int n = -warmup;
    while (f && n < runs && fscanf(f, "%llu", &v) == 1) {
        if (n >= 0) h->instructions[n] = v;
        n++;
    }
    if (f) fclose(f);
    if (n != runs)
        diag(&h->c->diags, DIAG_ERROR, E_ENV, "the emulator counted instructions of %d runs only", n + warmup);
    return n == runs;
}
/* The emulator's counting plugin, built with this machine's own compiler. */
static bool build_counter(const struct harness *h) {
    const char *cc[] = {"cc", "-O2", "-shared", "-fPIC", "-o", "count.so", "count.c", NULL};
    struct outcome o = process_run(cc, h->w->folder, 60);
    bool ok = o.started && o.status == 0;
    if (!ok)
        diag(&h->c->diags, DIAG_ERROR, E_ENV,
             "cc cannot build count.c, the emulator's plugin that counts instructions");
    outcome_free(&o);
    return ok;
}
struct command_line {
    const char **v;
    int n, cap;
};
/* Arguments of a bare-metal program are joined into one, which the emulator splits at blanks. */
static const char *joined(const struct harness *h, const struct command_line *v) {
    const char *s = "";
    for (int k = 0; k < v->n; k++) {
        if (strchr(v->v[k], ' ')) {
            diag(&h->c->diags, DIAG_ERROR, E_TARGET, "%s cannot be given to a program on target %s: it has a blank",
                 diag_quote(&h->c->arena, v->v[k]), h->w->program->o->target->name);
            return NULL;
        }
        s = format(h->c, "%s%s%s", s, k ? " " : "", v->v[k]);
    }
    return s;
}
/* Emulator, plugin, program, arguments. NULL: diagnostics. */
static const char *const *whole_command(const struct harness *h, const struct command_line *v) {
    const struct target *t = h->w->program->o->target;
    const char **runner = command_words(h->c, t->runner, NULL);
    struct command_line all = {0};
    int k = 0;
    if (runner[k]) PUSH(&h->c->arena, &all, runner[k++]);
    if (k && h->instructions) {
        if (!build_counter(h)) return NULL;
        PUSH(&h->c->arena, &all, "-plugin");
        PUSH(&h->c->arena, &all,
             format(h->c, "./count.so,out=count.txt%s%s", h->functions ? ",functions=" : "",
                    h->functions ? h->functions : ""));
    }
    while (runner[k]) PUSH(&h->c->arena, &all, runner[k++]);
    PUSH(&h->c->arena, &all, format(h->c, "./%s", strrchr(h->exe, '/') ? strrchr(h->exe, '/') + 1 : h->exe));
    if (t->board) {
        const char *one = joined(h, v);
        if (!one) return NULL;
        PUSH(&h->c->arena, &all, "-append");
        PUSH(&h->c->arena, &all, one);
    }
    for (k = 0; k < v->n && !t->board; k++) PUSH(&h->c->arena, &all, v->v[k]);
    PUSH(&h->c->arena, &all, NULL);
    return all.v;
}
static void add_option(const struct harness *h, struct command_line *v, const char *name, const char *value) {
    PUSH(&h->c->arena, v, name);
    PUSH(&h->c->arena, v, value);
}
bool harness_inputs(const struct harness *h, struct tensor *const *inputs) {
    bool ok = true;
    for (int k = 0; k < h->w->program->ins.n && ok; k++)
        ok = write_tensor(h, format(h->c, "%s/in%d.nnt", h->w->folder, k), inputs[k]);
    return ok;
}
bool harness_run(const struct harness *h, struct tensor *const *inputs, struct tensor **outputs, int runs, int warmup,
                 double *times) {
    const struct program *p = h->w->program;
    const char *runner = p->o->target->runner;
    struct command_line v = {0};
    if (runner && !program_exists(command_words(h->c, runner, NULL)[0])) {
        diag(&h->c->diags, DIAG_ERROR, E_ENV, "%s, which runs programs for target %s, was not found", runner,
             p->o->target->name);
        return false;
    }
    if (runs > 0) {
        add_option(h, &v, "--runs", format(h->c, "%d", runs));
        add_option(h, &v, "--warmup", format(h->c, "%d", warmup));
    }
    if (program_has_pool(p) && p->o->threads) add_option(h, &v, "--threads", format(h->c, "%d", p->o->threads));
    if (h->w->weights_file) add_option(h, &v, "--weights", format(h->c, "%s_weights.bin", p->name));
    if (h->without) add_option(h, &v, "--without", h->without);
    if (h->variant) add_option(h, &v, "--variant", format(h->c, "%d", h->variant - 1));
    for (const char *const *s = h->symbols; s && *s; s++) add_option(h, &v, "--symbol", *s);
    for (int k = 0; k < p->ins.n; k++) PUSH(&h->c->arena, &v, format(h->c, "in%d.nnt", k));
    for (int k = 0; k < p->outs.n; k++) PUSH(&h->c->arena, &v, format(h->c, "out%d.nnt", k));
    const char *const *words = harness_inputs(h, inputs) ? whole_command(h, &v) : NULL;
    if (!words) return false;
    struct outcome o = process_run(words, h->w->folder, h->seconds ? h->seconds : 600);
    bool ok = o.started && !o.timed_out && o.status == 0, other = o.started && o.status == OTHER_VARIANT && h->other;
    if (other) *h->other = true;
    else if (!ok) program_failed(h, &o);
    if (ok && runs > 0) ok = read_times(h, o.out.s ? o.out.s : "", runs, times);
    if (ok && h->instructions) ok = read_counts(h, runs, warmup);
    outcome_free(&o);
    for (int k = 0; k < p->outs.n && ok && outputs; k++) ok = (outputs[k] = harness_output(h, &h->c->arena, k)) != NULL;
    return ok;
}
