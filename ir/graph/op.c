/* The registry of ops: rows of all families, sorted by domain and name. Filled at start-up, before the first look-up;
 * both IRs and all passes look ops up here. */
#include "ir/graph/op.h"
#include "ir/base/text.h"
#include <stdlib.h>
#include <string.h>

/* An index of the rows in the families' arrays; it lives as long as the process. */
static VEC(const struct op *) rows;
static bool sorted = true;

static int compare(const void *a, const void *b) {
    const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;
    int d = strcmp(x->domain, y->domain);
    return d ? d : strcmp(x->name, y->name);
}

void op_register(const struct op *family) {
    for (const struct op *o = family; o->name; o++) {
        ASSERT(o->domain && o->since >= o->first);
        ASSERT(!!o->define + !!o->expand + !!o->control == 1);
        PUSH(NULL, &rows, o);
    }
    sorted = false;
}

static void sort_rows(void) {
    if (sorted) return;
    qsort(rows.v, (size_t)rows.n, sizeof *rows.v, compare);
    for (int i = 1; i < rows.n; i++)
        if (compare(&rows.v[i - 1], &rows.v[i]) == 0)
            BUG("op %s::%s is registered twice", rows.v[i]->domain, rows.v[i]->name);
    sorted = true;
}

const struct op *op_find(const char *domain, const char *name) {
    sort_rows();
    if (!rows.n) return NULL;
    struct op key = {.domain = domain, .name = name};
    const struct op *k = &key;
    const struct op **found = bsearch(&k, rows.v, (size_t)rows.n, sizeof *rows.v, compare);
    return found ? *found : NULL;
}

const struct op *op_of_model(const struct ctx *c, const char *domain, const char *name) {
    for (int k = 0; k < c->own_ops.n; k++)
        if (!strcmp(c->own_ops.v[k]->domain, domain) && !strcmp(c->own_ops.v[k]->name, name)) return c->own_ops.v[k];
    return op_find(domain, name);
}

const char *op_shown(const struct op *op, const char *name) { return op && op->foreign ? op->as : name; }

const struct op_attr *op_attr_named(const struct op *op, const char *name) {
    for (const struct op_attr *a = op ? op->attrs : NULL; a && a->name; a++)
        if (!strcmp(a->name, name)) return a;
    return NULL;
}
int64_t node_int(const struct node *n, const char *attr) {
    const struct attr *a = node_attr(n, attr);
    const struct op_attr *row = op_attr_named(n->op, attr);
    return a && a->kind == AT_INT ? a->u.i : row ? row->i : 0;
}
bool op_is_quantized(const char *op_type) {
    return strstr(op_type, "uantize") || (op_type[0] == 'Q' && op_type[1] >= 'A' && op_type[1] <= 'Z') ||
           ends_with(op_type, "Integer");
}

int op_count(void) { return rows.n; }

const struct op *op_at(int k) {
    sort_rows();
    ASSERT(k >= 0 && k < rows.n);
    return rows.v[k];
}

int opset_newest(const char *domain) {
    if (!*domain) return OPSET_NEWEST;
    return strcmp(domain, "ai.onnx.ml") == 0 ? 5 : 1;
}

int node_form_since(const struct node *n) {
    int since = n->op->first;
    for (const struct op_upgrade *u = n->op->upgrades; u && u->upto; u++) since = u->upto + 1;
    if (opset_newest(n->domain) == 1)
        return since; /* rows of such a domain may share attributes with one that has versions */
    for (int k = 0; k < n->attrs.n; k++) {
        const struct op_attr *a = op_attr_named(n->op, n->attrs.v[k].name);
        if (a && a->since > since) since = a->since;
    }
    return since;
}

bool domain_is_ours(const char *domain) {
    return !strcmp(domain, "gcc2nn") || !strcmp(domain, "tflite") || !strcmp(domain, "tflite.custom");
}

int64_t op_channel_count(const struct tensor *w, const struct op_channels *at) {
    return w->dims[at->axis] * at->groups;
}
int64_t op_channel_of(const struct tensor *w, const struct op_channels *at, int64_t i) {
    int64_t inner = 1, n = w->dims[at->axis];
    for (int k = at->axis + 1; k < w->rank; k++) inner *= w->dims[k];
    return i / inner % n + (at->groups > 1 ? i / (tensor_count(w) / at->groups) * n : 0);
}
