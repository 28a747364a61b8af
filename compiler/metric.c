/* See metric.h. Labels are in label.txt of a sample: for top1 a class for each row of the first output, for map a line
 * "CLASS X0 Y0 X1 Y1" for each object. */
#include "compiler/metric.h"
#include "compiler/import/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct object { /* a label, or a detection */
    int sample;
    double class_, score, box[4];
    bool taken;
};
struct metric {
    struct ctx *c;
    const char *name;
    int samples;
    double sum, all;                     /* top1: correct rows, all rows; mse: squares of errors, of expected values */
    VEC(struct object) truths, detected; /* map */
};
struct metric *metric_new(struct ctx *c, const char *name) {
    struct metric *m = NEW(&c->arena, struct metric);
    *m = (struct metric){.c = c, .name = name};
    return m;
}
bool metric_is_error(const struct metric *m) { return !strcmp(m->name, "mse"); }

/* ---- labels */
static bool wrong(struct metric *m, const char *folder, const char *why) {
    diag(&m->c->diags, DIAG_ERROR, E_FILE, "%s: sample %s: %s", m->name, diag_quote(&m->c->arena, folder), why);
    diag_help(&m->c->diags, "docs/diagnosis.md says what samples of a data set hold");
    return false;
}
/* The numbers of label.txt. false: a diagnostic. */
static bool read_label(struct metric *m, const char *folder, double **to, int *n) {
    struct mapped_file f = {0};
    VEC(double) v = {0};
    if (!file_map(&m->c->diags, format(m->c, "%s/label.txt", folder), &f)) return false;
    const char *text = format(m->c, "%.*s", (int)f.size, (const char *)f.bytes), *end;
    file_unmap(&f);
    for (const char *at = text; *(at += strspn(at, " \t\r\n,")); at = end) {
        double x = text_read_f64(at, &end);
        if (end == at || !isfinite(x)) return wrong(m, folder, "label.txt holds something else than numbers");
        PUSH(&m->c->arena, &v, x);
    }
    *to = v.v, *n = v.n;
    return true;
}

/* ---- top1: the greatest score of each row, or the class itself, of the first output */
static double value_at(const struct tensor *t, int64_t i) {
    return dtype_is_float(t->type) ? tensor_f(t, i) : (double)tensor_i(t, i);
}
static bool is_number(const struct tensor *t) {
    return dtype_is_float(t->type) || dtype_is_int(t->type) || t->type == BOOL;
}
static bool add_top1(struct metric *m, const char *folder, const struct tensor *t) {
    double *label;
    int rows;
    if (!read_label(m, folder, &label, &rows)) return false;
    int64_t count = tensor_count(t);
    if (!rows || count < rows || count % rows || !is_number(t))
        return wrong(m, folder, "label.txt must hold one class for each row of the first output");
    for (int r = 0; r < rows; r++) {
        int64_t classes = count / rows, best = 0;
        for (int64_t k = 1; k < classes; k++)
            if (value_at(t, r * classes + k) > value_at(t, r * classes + best)) best = k;
        m->sum += label[r] == (classes == 1 ? value_at(t, r) : (double)best);
        m->all++;
    }
    return true;
}

/* ---- map */
/* Boxes are rows of four numbers; among the outputs with one element per row, integers are classes and floats are
 * scores. */
static bool add_map(struct metric *m, const char *folder, struct tensor *const *outputs, int n) {
    const struct tensor *boxes = NULL, *classes = NULL, *scores = NULL;
    double *label;
    int numbers;
    if (!read_label(m, folder, &label, &numbers)) return false;
    if (numbers % 5) return wrong(m, folder, "label.txt must hold lines of CLASS X0 Y0 X1 Y1");
    for (int k = 0; k < n; k++)
        if (dtype_is_float(outputs[k]->type) && outputs[k]->rank >= 2 && outputs[k]->dims[outputs[k]->rank - 1] == 4)
            boxes = outputs[k];
    for (int k = 0; boxes && k < n; k++) {
        const struct tensor *t = outputs[k];
        if (t == boxes || tensor_count(t) != tensor_count(boxes) / 4) continue;
        if (dtype_is_float(t->type)) scores = t;
        else if (dtype_is_int(t->type)) classes = t;
    }
    if (!boxes || !scores || !classes)
        return wrong(m, folder, "outputs must be boxes of four floats, a score and a class, of integers, for each");
    for (int k = 0; k < numbers; k += 5) {
        struct object o = {m->samples, label[k], 0, {label[k + 1], label[k + 2], label[k + 3], label[k + 4]}, false};
        PUSH(&m->c->arena, &m->truths, o);
    }
    for (int64_t k = 0; k < tensor_count(scores); k++) {
        struct object o = {m->samples, (double)tensor_i(classes, k), tensor_f(scores, k), {0}, false};
        for (int d = 0; d < 4; d++) o.box[d] = tensor_f(boxes, 4 * k + d);
        PUSH(&m->c->arena, &m->detected, o);
    }
    return true;
}
static double overlap(const double *a, const double *b) { /* intersection over union */
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double both = w > 0 && h > 0 ? w * h : 0,
           all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
    return all > 0 ? both / all : 0;
}
static int best_first(const void *a, const void *b) {
    double x = ((const struct object *)a)->score, y = ((const struct object *)b)->score;
    return (x < y) - (x > y);
}
/* Area under the precision-recall curve, with each precision replaced by the best at this recall or a greater one. */
static double average_precision(struct metric *m, double class_, double threshold) {
    int truths = 0, right = 0, all = 0;
    double area = 0, *precision = NEWN(&m->c->arena, double, m->detected.n + 1);
    bool *hit = NEWN(&m->c->arena, bool, m->detected.n + 1);
    for (int k = 0; k < m->truths.n; k++) truths += m->truths.v[k].class_ == class_, m->truths.v[k].taken = false;
    for (int k = 0; k < m->detected.n; k++) {
        const struct object *d = &m->detected.v[k];
        struct object *best = NULL;
        if (d->class_ != class_) continue;
        for (int j = 0; j < m->truths.n; j++) {
            struct object *t = &m->truths.v[j];
            bool fits =
                t->sample == d->sample && t->class_ == class_ && !t->taken && overlap(d->box, t->box) >= threshold;
            if (fits && (!best || overlap(d->box, t->box) > overlap(d->box, best->box))) best = t;
        }
        if (best) best->taken = true, right++;
        hit[all] = best != NULL, precision[all] = (double)right / (all + 1), all++;
    }
    double greatest = 0;
    for (int k = all; k--;) {
        greatest = fmax(greatest, precision[k]);
        area += hit[k] ? greatest / truths : 0;
    }
    return area;
}
/* The mean over classes that have labels, and over overlap thresholds 0.50, 0.55 .. 0.95. */
static double mean_precision(struct metric *m) {
    double sum = 0;
    int n = 0;
    if (m->detected.n) qsort(m->detected.v, (size_t)m->detected.n, sizeof *m->detected.v, best_first);
    for (int k = 0; k < m->truths.n; k++) {
        bool seen = false;
        for (int j = 0; j < k && !seen; j++) seen = m->truths.v[j].class_ == m->truths.v[k].class_;
        if (seen) continue;
        for (int step = 0; step < 10; step++, n++)
            sum += average_precision(m, m->truths.v[k].class_, 0.5 + 0.05 * step);
    }
    return n ? sum / n : NAN;
}

/* ---- mse: squared errors divided by the squares of the expected values */
static bool add_mse(struct metric *m, const char *folder, struct tensor *const *outputs, struct tensor *const *want,
                    int n) {
    bool any = false;
    for (int k = 0; k < n; k++) {
        const struct tensor *w = want ? want[k] : NULL;
        if (!w || !is_number(w)) continue;
        if (tensor_count(w) != tensor_count(outputs[k]))
            return wrong(m, folder, "an output has other sizes than is wanted");
        any = true;
        for (int64_t i = 0; i < tensor_count(w); i++) {
            double x = value_at(w, i), d = value_at(outputs[k], i) - x;
            m->sum += d * d, m->all += x * x;
        }
    }
    return any || wrong(m, folder, "nothing says what its outputs should be");
}

bool metric_add(struct metric *m, const char *folder, struct tensor *const *outputs, struct tensor *const *want,
                int n) {
    if (n < 1) return wrong(m, folder, "the model has no outputs");
    bool ok = !strcmp(m->name, "top1")  ? add_top1(m, folder, outputs[0])
              : !strcmp(m->name, "map") ? add_map(m, folder, outputs, n)
                                        : add_mse(m, folder, outputs, want, n);
    m->samples++;
    return ok;
}
double metric_value(struct metric *m) {
    if (!strcmp(m->name, "map")) return mean_precision(m);
    return m->all > 0 ? m->sum / m->all : m->sum;
}
