/* Changes to a model's inputs and outputs: pre- and post-processing as nodes of the graph. See surgeon.h. */
#include "compiler/graph/passes.h"
#include "compiler/surgeon.h"
#include "ir/graph/op.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *quoted(struct surgery *s, const char *name) { return diag_quote(&s->c->arena, name); }

/* ---- inputs and outputs by name, or the only one */
/* An option may be given once for each input and output; returns k, or -1 and a diagnostic. */
static int once(struct surgery *s, const char *option, const char *what, const char *name, int k) {
    const char *key = internf(s->c->names, "--%s of %s %d", option, what, k);
    for (int j = 0; j < s->done.n; j++)
        if (s->done.v[j] == key) return surgery_wrong(s, option, "it is given twice for %s", quoted(s, name)), -1;
    PUSH(&s->c->arena, &s->done, key);
    return k;
}
static int place_of(struct surgery *s, const char *option, const char *what, const char *name, const char *const *names,
                    int n) {
    if (!name && n == 1) return once(s, option, what, names[0], 0);
    if (!name)
        return surgery_wrong(s, option, "the model has %d %ss: say which, %s=...", n, what, n ? names[0] : "NAME"), -1;
    for (int k = 0; k < n; k++)
        if (!strcmp(names[k], name)) return once(s, option, what, name, k);
    surgery_no_name(s, option, what, name, names, n);
    return -1;
}
static bool takes_tensors(struct surgery *s, const char *option) {
    if (!s->g->taken.n) return true;
    return surgery_wrong(s, option, "inputs of a model that takes sequences, as %s, stay as they are",
                         quoted(s, s->g->taken.v[0].name));
}
static const char *const *input_names(struct surgery *s) {
    const struct region *top = s->g->top;
    const char **names = NEWN(&s->c->arena, const char *, top->params.n + 1);
    for (int k = 0; k < top->params.n; k++) names[k] = top->params.v[k]->name;
    return names;
}
static struct value *input_of(struct surgery *s, const char *option, const char *name) {
    int k = place_of(s, option, "input", name, input_names(s), s->g->top->params.n);
    return k < 0 || !takes_tensors(s, option) ? NULL : s->g->top->params.v[k];
}
/* Inputs, then outputs. */
static const char *const *end_names(struct surgery *s) {
    int n = s->g->top->params.n;
    const char **all = NEWN(&s->c->arena, const char *, n + s->g->outputs.n + 1);
    memcpy(all, input_names(s), (size_t)n * sizeof *all);
    for (int k = 0; k < s->g->outputs.n; k++) all[n + k] = s->g->outputs.v[k];
    return all;
}
int surgery_output(struct surgery *s, const char *option, const char *name) {
    return place_of(s, option, "output", name, s->g->outputs.v, s->g->outputs.n);
}

/* ---- nodes at the ends */
static struct node *made(struct surgery *s, const char *option, struct node *before, const char *op,
                         struct value *const *ins, int nins, int nouts) {
    struct node *n = node_new(s->g->top, before, "", op, ins, nins, nouts);
    n->version = OPSET_NEWEST;
    n->origin = internf(s->c->names, "--%s", option); /* errors in it are reported as errors of the option */
    return n;
}
struct node *surgery_node(struct surgery *s, const char *option, const char *op, struct value *const *ins, int nins) {
    return made(s, option, NULL, op, ins, nins, 1);
}
bool surgery_indices(struct surgery *s, const char *option, struct value *v, const char *of) {
    const char *name = internf(s->c->names, "%s_indices", of);
    for (int k = 0; k < s->g->outputs.n; k++)
        if (!strcmp(s->g->outputs.v[k], name)) {
            surgery_wrong(s, option, "the model has an output %s already", diag_quote(&s->c->arena, name));
            diag_help(&s->c->diags, "give one of them another name first: gcc2nn surgeon MODEL --rename=OLD=NEW");
            return false;
        }
    graph_output(s->g, v, name);
    return true;
}
/* The readers of the parameter get a node that reads it, and `with` if given. */
static struct node *behind_input(struct surgery *s, const char *option, struct value *p, const char *op,
                                 struct value *with) {
    struct node *n = made(s, option, s->g->top->first, op, (struct value *[]){p, with}, with ? 2 : 1, 1);
    value_replace(p, n->outs.v[0]);
    node_set_input(n, 0, p);
    return n;
}
static struct node *behind_output(struct surgery *s, const char *option, int k, const char *op, struct value *with,
                                  int nouts) {
    struct node *n = made(s, option, NULL, op, (struct value *[]){s->g->top->results.v[k], with}, with ? 2 : 1, nouts);
    region_set_result(s->g->top, k, n->outs.v[0]);
    return n;
}

/* ---- post-processing */
bool surgery_number(const char *value, int64_t lo, int64_t hi, int64_t *v) {
    char *end;
    errno = 0;
    *v = strtoll(value, &end, 10);
    return *value && !*end && !errno && *v >= lo && *v <= hi;
}
static bool softmax(struct surgery *s, const char *word) {
    const char *name, *value = surgery_split(s, word, &name);
    int64_t axis;
    int k = surgery_output(s, "softmax", name);
    if (k < 0) return false;
    if (!surgery_number(value, -32, 31, &axis))
        return surgery_wrong(s, "softmax", "`%s` is not an axis, such as -1", value);
    node_set_int(behind_output(s, "softmax", k, "Softmax", NULL, 1), "axis", axis);
    return true;
}
/* The greatest elements along the last axis; their indices become another output. */
static bool top_k(struct surgery *s, const char *word) {
    const char *name, *value = surgery_split(s, word, &name);
    int64_t count;
    int k = surgery_output(s, "top-k", name);
    if (k < 0) return false;
    if (!surgery_number(value, 1, INT32_MAX, &count))
        return surgery_wrong(s, "top-k", "`%s` is not a number of 1 or more", value);
    struct node *n = behind_output(s, "top-k", k, "TopK", graph_ints(s->g, &count, 1), 2);
    return surgery_indices(s, "top-k", n->outs.v[1], s->g->outputs.v[k]);
}

/* ---- pre-processing */
enum { CHANNELS_MAX = 4096 };
static bool read_numbers(struct surgery *s, const char *option, const char *value, double *v, int *n) {
    *n = 0;
    for (const char *at = value;; at++) {
        const char *end = at;
        if (*n < CHANNELS_MAX) v[*n] = text_read_f64(at, &end);
        if (end == at || (*end && *end != ',') || !isfinite(v[*n]))
            return surgery_wrong(s, option, "`%s` is not a number, nor numbers between commas", value);
        ++*n;
        if (!*end) return true;
        at = end;
    }
}
/* One number for all, or one for each channel: along axis 1, or along the last axis if its size fits. NULL: a
 * diagnostic. */
static struct value *per_channel(struct surgery *s, const char *option, const struct value *p, const double *v, int n) {
    const struct type *t = &p->type;
    int64_t dims[32], size;
    int rank = 0, axis = 1;
    if (t->rank < 0 || !dtype_is_float(t->dtype) || dtype_bits(t->dtype) < 16)
        return surgery_wrong(s, option, "%s holds no floats", quoted(s, p->name)), NULL;
    if (n > 1) {
        if (t->rank < 2 || !x_is_int(t->dims[1], &size) || size != n) axis = t->rank - 1;
        if (axis < 0 || !x_is_int(t->dims[axis], &size) || size != n)
            return surgery_wrong(s, option, "%s has no %d channels, neither along axis 1 nor along the last",
                                 quoted(s, p->name), n),
                   NULL;
        for (rank = 0; rank < t->rank - axis; rank++) dims[rank] = rank ? 1 : n;
    }
    struct tensor *x = tensor_new(&s->c->arena, t->dtype, dims, rank);
    for (int k = 0; k < n; k++) tensor_set_f(x, k, v[k]);
    return graph_const(s->g, option, x);
}
static bool by_numbers(struct surgery *s, const char *option, const char *op, const char *word) {
    const char *name, *value = surgery_split(s, word, &name);
    double *v = NEWN(&s->c->arena, double, CHANNELS_MAX);
    int n;
    struct value *p = input_of(s, option, name), *with = NULL;
    if (!p || !read_numbers(s, option, value, v, &n)) return false;
    for (int k = 0; k < n && !strcmp(op, "Div"); k++)
        if (v[k] == 0) return surgery_wrong(s, option, "it divides by 0");
    if (!(with = per_channel(s, option, p, v, n))) return false;
    behind_input(s, option, p, op, with);
    return true;
}
/* The caller gives channels last; the model keeps channels first. */
static bool channels_last(struct surgery *s, const char *word) {
    const char *name, *value = surgery_split(s, word, &name);
    struct value *p = input_of(s, "input-layout", name);
    if (!p) return false;
    if (strcmp(value, "nhwc") != 0) return surgery_wrong(s, "input-layout", "`%s` is not nhwc", value);
    int rank = p->type.rank;
    if (rank < 3) return surgery_wrong(s, "input-layout", "%s is no picture: it has no three axes", quoted(s, p->name));
    int64_t *perm = NEWN(&s->c->arena, int64_t, rank);
    expr *dims = NEWN(&s->c->arena, expr, rank);
    for (int k = 0; k < rank; k++) {
        int from = k == 0 ? 0 : k == 1 ? rank - 1 : k - 1; /* position of the model's axis k in the caller's tensor */
        perm[k] = from;
        dims[from] = p->type.dims[k];
    }
    struct node *n = behind_input(s, "input-layout", p, "Transpose", NULL);
    node_set_attr(n, (struct attr){.name = "perm", .kind = AT_INTS, .n = rank, .u.is = perm});
    n->outs.v[0]->type = p->type;
    p->type = type_tensor(s->c, p->type.dtype, dims, rank);
    return true;
}
static bool cast(struct surgery *s, const char *word) {
    const char *name, *value = surgery_split(s, word, &name);
    enum dtype t = dtype_by_name(value, strlen(value));
    if (!name || !t || t == IDX || t == STR || dtype_is_complex(t) || dtype_bits(t) < 8)
        return surgery_wrong(s, "cast", "`%s` is not of the form NAME=TYPE, with a type such as u8, i32, f16 or f32",
                             word);
    int n = s->g->top->params.n, k = place_of(s, "cast", "input or output", name, end_names(s), n + s->g->outputs.n);
    if (k < 0) return false;
    if (k >= n) {
        node_set_int(behind_output(s, "cast", k - n, "Cast", NULL, 1), "to", dtype_onnx(t));
        return true;
    }
    if (!takes_tensors(s, "cast")) return false;
    struct value *p = s->g->top->params.v[k];
    node_set_int(behind_input(s, "cast", p, "Cast", NULL), "to", dtype_onnx(p->type.dtype));
    p->type.dtype = t;
    return true;
}

/* ---- names */
static bool rename(struct surgery *s, const char *word) {
    const char *old, *name = surgery_split(s, word, &old);
    struct region *top = s->g->top;
    int n = top->params.n, k;
    if (!old || !*name) return surgery_wrong(s, "rename", "`%s` is not of the form OLD=NEW", word);
    const char *const *all = end_names(s);
    for (k = 0; k < n + s->g->outputs.n; k++)
        if (!strcmp(all[k], name)) return surgery_wrong(s, "rename", "%s is called so already", quoted(s, name));
    k = place_of(s, "rename", "input or output", old, all, n + s->g->outputs.n);
    if (k < 0 || (k < n && !takes_tensors(s, "rename"))) return false;
    name = intern(s->c->names, name);
    if (k < n) top->params.v[k]->name = name;
    else s->g->outputs.v[k - n] = name;
    return true;
}

/* ---- all of them. Those of inputs come in front of each other: the last one is what the caller's values meet first.
 */
static bool each(struct surgery *s, const word_list *l, bool (*f)(struct surgery *s, const char *word)) {
    for (int k = 0; k < l->n; k++)
        if (!f(s, l->v[k])) return false;
    return true;
}
static bool scale(struct surgery *s, const char *word) { return by_numbers(s, "scale", "Div", word); }
static bool mean(struct surgery *s, const char *word) { return by_numbers(s, "mean", "Sub", word); }
bool surgery_ends(struct surgery *s) {
    const struct surgery_words *w = s->words;
    bool nodes = w->softmax.n || w->nms.n || w->top_k.n || w->scale.n || w->mean.n || w->layout.n || w->cast.n;
    if (nodes && surgery_unknown(s)) return graph_infer(s->g); /* reports which operator prevents inference */
    return each(s, &w->softmax, softmax) && each(s, &w->nms, surgery_nms) && each(s, &w->top_k, top_k) &&
           each(s, &w->scale, scale) && each(s, &w->mean, mean) && each(s, &w->layout, channels_last) &&
           each(s, &w->cast, cast) && (!nodes || graph_infer(s->g)) && each(s, &w->rename, rename);
}
