/* Measures each kernel. On this machine NAME_timed.c is compiled instead of NAME.c: the same text, in which macros put
 * clocks around the calls (templates/project/clocks.c), so the timed code is the shipped code. In an emulator, a plugin
 * counts by function, and kernels are functions. See per_kernel.h. */
#include "compiler/per_kernel.h"
#include "codegen/template.h"
#include "lower/machine/machine.h"
#include "lower/micro/micro.h"
#include "lower/problem/work.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the program */
static const char *kernel_function(struct session *s, struct program *v, const struct proc *p) {
    return emit_proc_name(s->c, p, &v->emit);
}
/* The program's own file is OWN.c; with several variants, each has one. */
static void timed_source(struct session *s, struct program *v, int first, struct text *t) {
    text_printf(t,
                "/* %s.c with clocks around the kernels, for `gcc2nn bench --per-kernel`. */\n"
                "#include \"%s_kernels.h\"\n\nvoid io_clock_begin(void);\nvoid io_clock_end(int kernel);\n",
                v->own, v->own);
    for (int k = 0; k < v->m->procs.n; k++) {
        const char *f = kernel_function(s, v, v->m->procs.v[k]);
        text_printf(t, "#define %s(...) (io_clock_begin(), %s(__VA_ARGS__), io_clock_end(%d))\n", f, f, first + k);
    }
    text_printf(t, "#include \"%s.c\"\n", v->own);
}
static bool write_timed(struct session *s, const char *name, struct text *t) {
    bool ok = harness_file(s->c, format(s->c, "%s/%s", s->w->folder, name), t, NULL, 0);
    text_free(t);
    return ok;
}
bool per_kernel_prepare(struct session *s, struct build_options *o) {
    struct program *p = s->w->program;
    int n = 0, first = 0;
    if (p->device) {
        diag(&s->c->diags, DIAG_ERROR, E_TARGET,
             "--per-kernel, profile: kernels of a GPU run beside the program, whose clock says nothing of them");
        diag_help(&s->c->diags, "keep the code with --build-dir, compile it with -DNN_NVTX and run it under `nsys "
                                "profile`, which then shows a range for each kernel, or under `ncu`");
        return false;
    }
    if (s->compile.target->runner) return true;         /* the emulator counts by function */
    remove(format(s->c, "%s/calls.txt", s->w->folder)); /* left by an earlier run */
    const char **more = NEWN(&s->c->arena, const char *, p->nall + 2),
               **instead = NEWN(&s->c->arena, const char *, p->nall + 1);
    for (int k = 0; k < p->nall; k++) {
        struct text t = {0};
        timed_source(s, p->all[k], first, &t);
        first += p->all[k]->m->procs.n;
        more[n] = format(s->c, "%s_timed.c", p->all[k]->own), instead[n] = format(s->c, "%s.c", p->all[k]->own);
        if (!write_timed(s, more[n++], &t)) return false;
    }
    struct text t = {0};
    template_text(&t, "templates/project/clocks.c", (const char *const[]){"NAME", p->name, NULL});
    more[n] = format(s->c, "%s_clocks.c", p->name);
    o->more = more, o->instead = instead, o->main_flags = "-DIO_TIMED";
    if (s->o->events) o->flags = "-O2 -DIO_COUNTERS";
    return write_timed(s, more[n], &t);
}

/* ---- the machine's peak */
/* Integers may be widened to what an instruction multiplies; floats are stored in the type in which they are
 * multiplied. */
static bool multiplies(const struct micro *micro, const struct problem *p, enum dtype sum) {
    if (micro->sum != sum || !p || !p->product) return false;
    return !dtype_is_float(sum) ||
           (p->a.read && p->b.read && p->a.read->u.buf->type == micro->a && p->b.read->u.buf->type == micro->b);
}
/* The most products per cycle on this machine, by its fastest micro-kernel; 0: it has none. */
static double products_at_best(const struct machine *m, const struct problem *p) {
    enum dtype sum = p && p->sum ? p->sum->u.stage.buf->type : F32;
    const struct operation *op = machine_multiply_add(m, sum);
    double rate = op ? op->starts * machine_lanes(m, sum) : 0;
    for (const struct micro_speed *k = m->micros; k && k->micro; k++) {
        double lanes = k->micro->n0 ? k->micro->n0 : machine_lanes(m, k->micro->sum);
        if (multiplies(k->micro, p, sum)) rate = fmax(rate, lanes * k->micro->k0 * k->starts);
    }
    return rate;
}
/* Cycles for this many products and bytes at peak rates, the greater of the two; NAN: not known. */
static double cycles_at_best(const struct machine *m, double rate, double products, double bytes) {
    if (products > 0 && rate == 0) return NAN;
    double moves = bytes * m->l2.byte, compute = products > 0 ? products / rate : 0;
    if (isnan(moves)) return products > 0 ? compute : NAN;
    return fmax(moves, compute);
}

/* ---- all calls of a run */
enum { SOME = 3 }; /* nodes shown in a line of a table */
struct callers {
    struct arena *a;
    const struct proc *p;
    int n;
    const char *nodes;
};
static bool add_caller(void *env, const struct stmt *s) {
    struct callers *q = env;
    if (s->kind != S_CALL || s->u.call.callee != q->p || !s->u.call.origin || q->n == SOME) return true;
    q->nodes = arena_printf(q->a, "%s%s%s", q->nodes, q->n++ ? ", " : "", s->u.call.origin);
    return true;
}
struct dims_of_run {
    const struct program *program;
    const int64_t *dims; /* values of its symbols */
};
static bool dim_of_run(void *env, expr leaf, int64_t *v) {
    const struct dims_of_run *q = env;
    for (int k = 0; k < q->program->syms.n; k++)
        if (leaf->op == X_SYM && leaf->u.sym == q->program->syms.v[k]) return *v = q->dims[k], true;
    return false;
}
/* From a comment: the algorithm's title, if it has one, and the nodes. At most this many, then the number of further
 * ones. */
static const char *lines_of(struct arena *a, const char *comment, int most) {
    const char *said = "";
    int lines = 0;
    for (size_t n; comment && *comment; comment += n + (comment[n] == '\n')) {
        n = strcspn(comment, "\n");
        if (lines++ < most) said = arena_printf(a, "%s%s%.*s", said, *said ? ", " : "", (int)n, comment);
    }
    return lines > most ? arena_printf(a, "%s and %d more", said, lines - most) : said;
}
/* For a kernel text: the beginning of its comment. */
static const char *subject_of(struct arena *a, const char *comment) {
    return comment ? arena_printf(a, "%.*s", (int)strcspn(comment, ".:\n"), comment) : "";
}
static void describe(struct session *s, struct program *v, const int64_t *dims, struct kernel_row *r, bool counted,
                     double cycles_per_ns) {
    struct dims_of_run of = {s->w->program, dims};
    struct callers callers = {.a = &s->c->arena, .p = r->p, .nodes = ""};
    r->work = kernel_work(v->m->entry, r->p, counted ? NAN : r->work.calls, &(struct sizes_of_run){dim_of_run, &of});
    survey(&v->m->entry->body, add_caller, &callers);
    r->what = r->p->problem ? problem_class_name(r->p->problem->cls) : "loops";
    double cycles = cycles_per_ns * (proc_is_parallel(r->p) ? v->o->threads : 1); /* cycles per nanosecond, of all
                                                                                   * threads */
    double rate = products_at_best(r->m, r->p->problem), taken = r->taken * cycles;
    r->at_best = taken > 0 ? cycles_at_best(r->m, rate, r->work.products, r->work.bytes) / taken : NAN;
    r->peak = rate > 0 && cycles > 0 ? rate * cycles : NAN;
    r->peak_bytes = r->m->l2.byte > 0 && cycles > 0 ? cycles / r->m->l2.byte : NAN;
    r->nodes = !r->p->is_kernel_text ? lines_of(callers.a, r->p->comment, INT_MAX)
               : *callers.nodes      ? callers.nodes
                                     : subject_of(callers.a, r->p->comment);
    r->some_nodes = r->p->is_kernel_text ? r->nodes : lines_of(callers.a, r->p->comment, SOME);
}

/* ---- reading the results of the runs */
static void add_rows(struct session *s, struct kernel_rows *out) {
    struct program *p = s->w->program;
    for (int n = 0; n < p->nall; n++)
        for (int k = 0; k < p->all[n]->m->procs.n; k++) {
            const struct proc *q = p->all[n]->m->procs.v[k];
            struct kernel_row r = {.p = q,
                                   .number = out->v.n,
                                   .name = kernel_function(s, p->all[n], q),
                                   .target = p->nall > 1 ? p->all[n]->target->name : NULL,
                                   .m = p->all[n]->target->machine};
            PUSH(&s->c->arena, &out->v, r);
        }
}
static bool unreadable(struct session *s, const char *file) {
    diag(&s->c->diags, DIAG_ERROR, E_FAULT, "%s, which the compiled model left, is incomplete", file);
    return false;
}
/* A file of the folder; NULL after a diagnostic. */
static char *text_left(struct session *s, const char *file) {
    struct mapped_file f = {0};
    if (!file_map(&s->c->diags, format(s->c, "%s/%s", s->w->folder, file), &f)) return NULL;
    char *text = arena_printf(&s->c->arena, "%.*s", (int)f.size, (const char *)f.bytes);
    file_unmap(&f);
    return text;
}
struct calls {
    VEC(struct kernel_call) v;
    double cycles_per_ns, empty;
};
/* The number of events, and their names; 0: why there are none. */
static char *read_events(struct session *s, char *at, struct kernel_rows *out) {
    out->nevents = (int)strtol(at, &at, 10);
    if (out->nevents < 0 || out->nevents > EVENTS_MOST) out->nevents = 0;
    for (int k = 0; k < out->nevents; k++) {
        at += *at == ' ';
        size_t n = strcspn(at, " \n");
        out->events[k] = format(s->c, "%.*s", (int)n, at);
        at += n;
    }
    at += *at == ' ';
    out->no_events = format(s->c, "%.*s", (int)strcspn(at, "\n"), at);
    return at + strcspn(at, "\n");
}
static bool read_calls(struct session *s, struct kernel_rows *out, struct calls *all) {
    char *at = text_left(s, "calls.txt");
    int64_t lines = 0;
    if (!at) return false;
    for (const char *end = at; (end = strchr(end, '\n')); end++) lines++;
    all->cycles_per_ns = strtod(at, &at), all->empty = strtod(at, &at);
    at = read_events(s, at, out);
    for (int64_t n = 0; n + 1 < lines; n++) {
        struct kernel_call c = {.kernel = (int)strtol(at, &at, 10)};
        c.ns = strtod(at, &at), c.begun = strtod(at, &at);
        if (out->nevents) c.events = NEWN(&s->c->arena, double, out->nevents);
        for (int k = 0; k < out->nevents; k++) c.events[k] = strtod(at, &at);
        if (c.kernel < -1 || c.kernel >= out->v.n) return unreadable(s, "calls.txt");
        PUSH(&s->c->arena, &all->v, c);
    }
    return true;
}
/* Sums for each run, of which the median is used; for events the mean. Runs before the timed ones are left out. */
static bool read_clocks(struct session *s, int runs, int warmup, struct kernel_rows *out, double *cycles_per_ns) {
    struct calls all = {0};
    if (!read_calls(s, out, &all)) return false;
    double *sums = NEWN(&s->c->arena, double, (int64_t)out->v.n *runs + 1);
    int run = -warmup - 1;
    for (int k = 0; k < out->v.n && out->nevents; k++) out->v.v[k].events = NEWN(&s->c->arena, double, out->nevents);
    for (int k = 0; k < all.v.n; k++) {
        struct kernel_call *c = &all.v.v[k];
        if (c->kernel < 0) run++;
        if (run < 0) continue;
        if (run >= runs) return unreadable(s, "calls.txt");
        c->ns = c->kernel < 0 ? 0 : fmax(c->ns - all.empty, 0);
        PUSH(&s->c->arena, &out->calls, *c);
        if (c->kernel < 0) continue;
        struct kernel_row *r = &out->v.v[c->kernel];
        sums[(int64_t)c->kernel * runs + run] += c->ns;
        r->work.calls += 1.0 / runs;
        for (int j = 0; j < out->nevents; j++) r->events[j] += c->events[j] / runs;
    }
    for (int k = 0; k < out->v.n; k++) {
        qsort(sums + (int64_t)k * runs, (size_t)runs, sizeof *sums, harness_by_time);
        out->v.v[k].taken = sums[(int64_t)k * runs + runs / 2];
    }
    *cycles_per_ns = all.cycles_per_ns;
    return true;
}
/* The kernel's own function, its loops that threads share, and parts that a compiler split off: k1_conv, k1_conv_i0,
 * k1_conv.part.0. The number in the name is unique. */
static bool is_of(const char *function, const char *name) {
    size_t n = strlen(name);
    return !strncmp(function, name, n) && strchr(" _.", function[n]);
}
static bool read_functions(struct session *s, struct kernel_rows *out) {
    const char *at = text_left(s, PER_KERNEL_FUNCTIONS);
    if (!at) return false;
    for (size_t n; *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        const char *blank = memchr(at, ' ', n);
        if (!blank) return unreadable(s, PER_KERNEL_FUNCTIONS);
        for (int k = 0; k < out->v.n; k++)
            if (is_of(at, out->v.v[k].name)) out->v.v[k].taken += strtod(blank, NULL);
    }
    return true;
}
static int longest_first(const void *a, const void *b) {
    double x = ((const struct kernel_row *)a)->taken, y = ((const struct kernel_row *)b)->taken;
    return (x < y) - (x > y);
}
bool per_kernel_read(struct session *s, int runs, int warmup, double run, const int64_t *dims,
                     struct kernel_rows *out) {
    struct program *p = s->w->program;
    double cycles_per_ns = 0;
    out->counted = s->compile.target->runner != NULL;
    add_rows(s, out);
    if (!(out->counted ? read_functions(s, out) : read_clocks(s, runs, warmup, out, &cycles_per_ns))) return false;
    for (int n = 0, k = 0; n < p->nall; n++)
        for (int end = k + p->all[n]->m->procs.n; k < end; k++)
            describe(s, p->all[n], dims, &out->v.v[k], out->counted, cycles_per_ns);
    int kept = 0;
    for (int k = 0; k < out->v.n; k++)
        if (out->v.v[k].taken > 0 || (!out->counted && out->v.v[k].work.calls > 0)) /* a coarse clock may measure 0 */
            out->v.v[kept++] = out->v.v[k];
    out->v.n = kept;
    if (kept) qsort(out->v.v, (size_t)kept, sizeof *out->v.v, longest_first);
    for (int k = 0; k < kept; k++) out->kernels += out->v.v[k].taken;
    out->run = fmax(run, out->kernels); /* the sum of medians may exceed the median of the runs */
    return true;
}

/* ---- the table */
static void number(char *to, size_t room, const char *format_, double v) {
    if (isnan(v)) snprintf(to, room, "-");
    else snprintf(to, room, format_, v);
}
/* Nanoseconds per printed unit: milliseconds, or microseconds for small models. */
static double unit_of(const struct kernel_rows *rows) { return rows->run < 1e6 ? 1e3 : 1e6; }
static void print_amount(const struct kernel_rows *rows, double v) {
    if (rows->counted) printf("%12.0f %5.1f %%", v, 100 * v / rows->run);
    else printf("%10.3f %5.1f %%", v / unit_of(rows), 100 * v / rows->run);
}
static void print_row(const struct kernel_rows *rows, const struct kernel_row *r) {
    char calls[24], rate[24], bytes[24], best[24];
    double products = r->work.products > 0 ? r->work.products : NAN, taken = r->taken > 0 ? r->taken : NAN;
    number(calls, sizeof calls, "%.0f", r->work.calls);
    number(rate, sizeof rate, rows->counted ? "%.2f" : "%.1f", rows->counted ? taken / products : 2 * products / taken);
    number(bytes, sizeof bytes, rows->counted ? "%.0f" : "%.1f", rows->counted ? r->work.bytes : r->work.bytes / taken);
    number(best, sizeof best, "%.0f %%", 100 * r->at_best);
    print_amount(rows, r->taken);
    if (rows->counted) printf(" %6s %7s %10s", calls, rate, bytes);
    else printf(" %6s %7s %7s %6s", calls, rate, bytes, best);
    for (int k = 0; k < rows->nevents; k++) printf(" %13.0f", r->events[k]);
    printf("  %s%s%s: %s; %s\n", r->name, r->target ? " on " : "", r->target ? r->target : "", r->what, r->some_nodes);
}
void per_kernel_print(const struct kernel_rows *rows) {
    if (rows->counted) printf("%12s %7s %6s %7s %10s  kernel\n", "instructions", "share", "calls", "each", "bytes");
    else
        printf("%10s %7s %6s %7s %7s %6s", unit_of(rows) < 1e6 ? "us" : "ms", "share", "calls", "Gop/s", "GB/s",
               "best");
    for (int k = 0; k < rows->nevents; k++) printf(" %13s", rows->events[k]);
    if (!rows->counted) printf("  kernel\n");
    for (int k = 0; k < rows->v.n; k++) print_row(rows, &rows->v.v[k]);
    print_amount(rows, rows->run - rows->kernels);
    printf("  outside of these%s\n", rows->counted   ? ", also what they call"
                                     : rows->nevents ? ", also the counting of events"
                                                     : "");
}
static json_t *known(double v) { return isnan(v) ? json_null() : json_real(v); }
static json_t *events_json(const struct kernel_rows *rows, const struct kernel_row *r) {
    json_t *o = json_object();
    for (int k = 0; k < rows->nevents; k++) json_object_set_new(o, rows->events[k], json_real(r->events[k]));
    return o;
}
json_t *per_kernel_json(const struct kernel_rows *rows) {
    json_t *list = json_array();
    for (int k = 0; k < rows->v.n; k++) {
        const struct kernel_row *r = &rows->v.v[k];
        json_t *o = json_pack("{s:s, s:s, s:s, s:f, s:o, s:o, s:o}", "kernel", r->name, "problem", r->what, "nodes",
                              r->nodes, "share", r->taken / rows->run, "calls", known(r->work.calls), "products",
                              known(r->work.products), "bytes", known(r->work.bytes));
        if (r->target) json_object_set_new(o, "target", json_string(r->target));
        if (rows->counted) {
            json_object_set_new(o, "instructions", json_integer((json_int_t)r->taken));
        } else {
            json_object_set_new(o, "median_ms", json_real(r->taken / 1e6));
            json_object_set_new(o, "best", known(r->at_best));
            json_object_set_new(o, "peak", known(r->peak));
            if (rows->nevents) json_object_set_new(o, "events", events_json(rows, r));
            json_object_set_new(o, "peak_bytes", known(r->peak_bytes));
        }
        json_array_append_new(list, o);
    }
    return list;
}
