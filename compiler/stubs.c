/* `gcc2nn compile MODEL --stub-unsupported DIR`: writes a C function for each unknown operator of the model, with the
 * types and shapes of the first node that uses it, to be filled in (docs/custom-operators.md). Types come from
 * inference, which gives such an operator the types that the model declares, or assumes some. */
#include "codegen/emit.h"
#include "compiler/commands.h"
#include "compiler/graph/passes.h"
#include "compiler/import/file.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include <string.h>
#include <sys/stat.h>

struct stub {
    struct node *first;
    int nodes;
};
struct stubs {
    struct ctx *c;
    struct graph *g;
    VEC(struct stub) v;
    VEC(const char *) files;
};

/* ---- assumed types of their results */
static const struct declared *declared_as(const struct graph *g, const char *name) {
    for (int k = 0; k < g->declared.n; k++)
        if (!strcmp(g->declared.v[k].name, name)) return &g->declared.v[k];
    return NULL;
}
static void define_unknown(void) {
    const struct node *n = def_node();
    T x = n_in() ? in(0) : NULL;
    for (int k = 0; k < n_out(); k++) {
        const struct declared *d = n->outs.v[k] ? declared_as(n->in->graph, n->outs.v[k]->name) : NULL;
        X dims = x ? shape(x) : list0();
        bool known = d && d->rank >= 0;
        for (int i = 0; known && i < d->rank; i++) known = d->dims[i] >= 0 || i < dims.n;
        if (known) {
            X own = list0();
            for (int i = 0; i < d->rank; i++) own = push(own, d->dims[i] >= 0 ? idx(d->dims[i]) : dims.v[i]);
            dims = own;
        }
        result(k, d && d->dtype != NONE ? d->dtype : x ? dtype(x) : F32, dims);
    }
}
static const struct op_slot any_slots[] = {{"x", TS_ANY, OPTIONAL | VARIADIC}, {0}};
static const struct op unknown = {.domain = "",
                                  .name = "unknown",
                                  .since = 1,
                                  .first = 1,
                                  .ins = any_slots,
                                  .outs = any_slots,
                                  .define = define_unknown,
                                  .flags = OP_FOREIGN};
static void find_unknown(void *env, struct node *n) {
    struct stubs *q = env;
    if (n->op) return;
    n->op = &unknown;
    for (int k = 0; k < q->v.n; k++)
        if (q->v.v[k].first->domain == n->domain && q->v.v[k].first->op_type == n->op_type) {
            q->v.v[k].nodes++;
            return;
        }
    PUSH(&q->c->arena, &q->v, ((struct stub){n, 1}));
}

/* ---- one function */
static const char *c_type(enum dtype t) {
    bool number = t == BOOL || t == F32 || t == F64 || (dtype_is_int(t) && dtype_bytes(t) * 8 == dtype_bits(t));
    return dtype_is_half(t) ? "uint16_t" : !number ? NULL : t == BOOL ? "bool" : dtype_c(t);
}
struct dims_said {
    int n;
    struct {
        expr size;
        const char *name;
    } v[64];
};
/* A name for a dim of an input, which distinguishes sizes with different names. */
static const char *input_dim(struct stubs *q, struct dims_said *d, expr e, int input, int k) {
    for (int i = 0; i < d->n; i++)
        if (e->op != X_CONST && d->v[i].size == e) return d->v[i].name;
    const char *name = format(q->c, "n%d_%d", input, k);
    if (d->n < 64) d->v[d->n].size = e, d->v[d->n++].name = name;
    return name;
}
static const char *output_dim(struct stubs *q, const struct dims_said *d, expr e) {
    int64_t n;
    for (int i = 0; i < d->n; i++)
        if (d->v[i].size == e) return d->v[i].name;
    return x_is_int(e, &n) ? format(q->c, "%lld", (long long)n) : "1 /* not known */";
}
static bool refuse(struct stubs *q, const struct node *n, const char *why) {
    diag_node(&q->c->diags, DIAG_WARNING, E_CUSTOM, n->origin, "no function is written for it: %s", why);
    return false;
}
struct written {
    struct text comment, params, body;
    struct dims_said dims;
};
static bool put_value(struct stubs *q, struct written *w, const struct node *n, const struct value *v, const char *name,
                      int input) {
    const char *type = v && v->type.kind == TY_TENSOR ? c_type(v->type.dtype) : "float";
    if (!type) return refuse(q, n, format(q->c, "it has tensors of %s", dtype_name(v->type.dtype)));
    text_printf(&w->params, "%s%s%s *%s", w->params.n ? ", " : "", input >= 0 ? "const " : "", type, name);
    if (!v && input >= 0) return text_printf(&w->comment, " *  @param %s optional  this node has none\n", name), true;
    bool half = v && v->type.kind == TY_TENSOR && dtype_is_half(v->type.dtype);
    text_printf(&w->comment, " *  @param %s %s[", name, half ? dtype_name(v->type.dtype) : "");
    if (v && v->type.kind == TY_TENSOR && v->type.rank >= 0) {
        const char *count = "1";
        for (int k = 0; k < v->type.rank; k++) {
            const char *dim = input >= 0 ? input_dim(q, &w->dims, v->type.dims[k], input, k)
                                         : output_dim(q, &w->dims, v->type.dims[k]);
            text_printf(&w->comment, "%s%s", k ? ", " : "", dim);
            count = k ? format(q->c, "%s * %s", count, dim) : dim;
        }
        text_add(&w->comment, "]\n");
        if (input < 0)
            text_printf(&w->body, "    for (int64_t i = 0; i < %s; i++) %s[i] = 0; /* to be written */\n", count, name);
        return true;
    }
    text_add(&w->comment, "rest...]  its type and shape are not known here\n");
    if (input < 0) text_printf(&w->body, "    (void)%s; /* to be written */\n", name);
    return true;
}
/* Can it be written between quotes in a comment? */
static bool is_plain(const struct str_elem *s) {
    for (size_t k = 0; k < s->n; k++)
        if (s->p[k] < ' ' || s->p[k] > '~' || strchr("\"*\\/", s->p[k])) return false;
    return true;
}
static void put_list(struct stubs *q, struct written *w, const struct attr *a, const char *name) {
    text_printf(&w->comment, " *  @attr %s", name);
    if (a->kind == AT_STRING) {
        if (is_plain(&a->u.s)) text_printf(&w->comment, " = \"%.*s\"", (int)a->u.s.n, a->u.s.p);
        text_printf(&w->params, ", const char *%s", name);
    } else {
        const char *count = c_ident(q->c, format(q->c, "n_%s", name));
        text_printf(&w->comment, " [%s]", count);
        text_printf(&w->params, ", const %s *%s, int64_t %s", a->kind == AT_INTS ? "int64_t" : "float", name, count);
        text_printf(&w->body, "    (void)%s;\n", count);
    }
    text_char(&w->comment, '\n');
    text_printf(&w->body, "    (void)%s;\n", name);
}
static bool put_attribute(struct stubs *q, struct written *w, const struct attr *a) {
    const char *name = c_ident(q->c, a->name);
    bool number = a->kind == AT_INT || a->kind == AT_FLOAT,
         list = a->kind == AT_INTS || a->kind == AT_FLOATS || a->kind == AT_STRING;
    if ((number || list) && strcmp(name, a->name) != 0) number = list = false;
    if (list) return put_list(q, w, a, name), true;
    if (!number) {
        struct text t = {0};
        emit_comment_text(&t, a->name);
        text_printf(&w->comment,
                    " *  The attribute %s is no number, list of numbers or text, or no word of C: a function does not "
                    "get it.\n",
                    t.s);
        text_free(&t);
        return true;
    }
    if (a->kind == AT_INT) text_printf(&w->comment, " *  @attr %s = %lld\n", name, (long long)a->u.i);
    else text_printf(&w->comment, " *  @attr %s = %.9g\n", name, (double)a->u.f);
    text_printf(&w->params, ", %s %s", a->kind == AT_INT ? "int64_t" : "float", name);
    text_printf(&w->body, "    (void)%s;\n", name);
    return true;
}
static bool is_word_of_op(const char *s) {
    return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")];
}
static bool put_function(struct stubs *q, const struct stub *s, const char *function, struct text *out) {
    struct node *n = s->first;
    struct written w = {{0}, {0}, {0}, {.n = 0}};
    const char *domain = *n->domain ? n->domain : "ai.onnx";
    bool ok = (is_word_of_op(domain) && is_word_of_op(n->op_type)) || refuse(q, n, "its name is none for --op");
    for (int k = 0; k < n->ins.n && ok; k++) ok = put_value(q, &w, n, n->ins.v[k], format(q->c, "x%d", k), k);
    for (int k = 0; k < n->outs.n && ok; k++) ok = put_value(q, &w, n, n->outs.v[k], format(q->c, "y%d", k), -1);
    if (ok) {
        text_printf(
            out, "#include <stdbool.h>\n#include <stdint.h>\n\n/** To be written: what %s:%s computes. %d node%s it.\n",
            domain, n->op_type, s->nodes, s->nodes > 1 ? "s use" : " uses");
        text_printf(out, " *  @op    %s:%s\n", domain, n->op_type);
        for (int k = 0; k < n->attrs.n; k++) put_attribute(q, &w, &n->attrs.v[k]);
        for (int k = 0; k < w.dims.n; k++) {
            text_printf(&w.params, ", int64_t %s", w.dims.v[k].name);
            text_printf(&w.body, "    (void)%s;\n", w.dims.v[k].name);
        }
        for (int k = 0; k < n->ins.n; k++) text_printf(&w.body, "    (void)x%d;\n", k);
        text_printf(out, "%s */\nvoid %s(%s) {\n%s}\n", w.comment.s ? w.comment.s : "", function,
                    w.params.s ? w.params.s : "void", w.body.s ? w.body.s : "");
        emit_wrap(out);
    }
    text_free(&w.comment), text_free(&w.params), text_free(&w.body);
    return ok;
}

/* ---- the files */
/* Files that were filled in must not be overwritten. */
static bool is_there(struct stubs *q, const char *folder, const char *file) {
    struct stat st;
    const char *path = format(q->c, "%s/%s", folder, file);
    if (lstat(path, &st) != 0) return false;
    diag_at(&q->c->diags, DIAG_ERROR, E_WRITE, path, NULL, "it is there already");
    diag_help(&q->c->diags, "name another folder, or take what is in this one with --op-path");
    return true;
}
static bool write_stubs(struct stubs *q, const char *folder) {
    struct file_set files;
    struct names names;
    names_init(&names, q->c);
    bool ok = file_set_begin(&files, &q->c->diags, folder), begun = ok;
    for (int k = 0; k < q->v.n && ok; k++) {
        const char *function = names_add(&names, q->v.v[k].first->op_type), *file = format(q->c, "%s.c", function);
        struct text t = {0};
        if (put_function(q, &q->v.v[k], function, &t)) {
            ok = !is_there(q, folder, file) && file_set_add(&files, file, t.s, t.n);
            PUSH(&q->c->arena, &q->files, file);
        }
        text_free(&t);
    }
    if (begun && !(ok && q->files.n)) file_set_abandon(&files);
    return ok && (!q->files.n || file_set_commit(&files));
}
static void print_stubs(const struct stubs *q, const char *folder, bool json) {
    json_t *list = json_array();
    struct text t = {0};
    for (int k = 0; k < q->files.n; k++) {
        json_array_append_new(list, json_string(q->files.v[k]));
        text_printf(&t, "%s/%s\n", folder, q->files.v[k]);
    }
    if (!q->v.n) text_add(&t, "every operator of the model is known\n");
    if (json) print_json(json_pack("{s:o, s:o}", "folder", json_name(&q->c->arena, folder), "files", list));
    else json_decref(list);
    if (json) text_free(&t);
    else print_text(&t);
}
int stub_unsupported(const struct options *o) {
    struct ctx *c = ctx_new();
    struct stubs q = {.c = c};
    options_diags(o, &c->diags);
    q.g = options_model(c, o, true);
    if (q.g) {
        each_node(q.g->top, find_unknown, &q);
        struct diags told = c->diags; /* diagnostics of inference are discarded, because they follow from the assumed
                                       * types */
        graph_infer(q.g);
        c->diags = told;
        if (write_stubs(&q, o->stubs)) print_stubs(&q, o->stubs, o->json);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
