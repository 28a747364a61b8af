/* The values of a run: the model's inputs from --input and --data, its outputs to --out. Files hold values as the model
 * declares them, programs take and give tensors; this is the only code that converts between them. See session.h. */
#include "compiler/import/npz.h"
#include "compiler/import/picture.h"
#include "compiler/import/tensor_io.h"
#include "compiler/session.h"
#include "ir/base/memory.h"
#include <string.h>
#include <unistd.h>

/* ---- inputs and outputs as the model declares them */
static void add_tensors(struct session *s, holders *p, const struct io *v, int to) {
    int from = p->n ? p->v[p->n - 1].first + p->v[p->n - 1].n : 0;
    for (int k = from; k < to; k++)
        PUSH(&s->c->arena, p, ((struct holder){.name = v[k].buf->name, .present = true, .first = k, .n = 1}));
}
static holders ports_of(struct session *s, const holders *h, const struct io *v, int n) {
    holders p = {0};
    for (int k = 0; k < h->n; k++) {
        add_tensors(s, &p, v, h->v[k].first);
        PUSH(&s->c->arena, &p, h->v[k]);
    }
    add_tensors(s, &p, v, n);
    return p;
}
holders session_takes(struct session *s) {
    const struct program *p = s->w->program;
    return ports_of(s, &p->m->taken, p->ins.v, p->ins.n);
}
holders session_gives(struct session *s) {
    const struct program *p = s->w->program;
    return ports_of(s, &p->m->given, p->outs.v, p->outs.n);
}

const char *session_count(struct session *s, bool present, int n) {
    return !present ? "nothing" : n == 1 ? "1 tensor" : format(s->c, "%d tensors", n);
}

/* ---- files */
static const char *some_value(enum value_kind k) {
    static const char *const some[VALUE_KINDS] = {
        "a tensor", "a sequence", "an optional tensor", "an optional sequence", "a map", "a sequence of maps"};
    return some[k];
}
/* Possible names of an array in an archive: the model's name, or by number. */
struct array_names {
    const char *v[4];
};
static struct array_names array_names(struct session *s, const char *stem, int k, const char *name) {
    return (struct array_names){
        {name, format(s->c, "%s_%d", stem, k), strcmp(stem, "input") ? NULL : format(s->c, "arr_%d", k)}};
}
static bool read_array(struct session *s, const char *path, const struct array_names *names, enum dtype type,
                       struct value_io *v, bool *absent) {
    bool only = path != s->o->data; /* one file for one input */
    struct tensor **t = NEW(&s->c->arena, struct tensor *);
    *t = npz_read(&s->c->diags, &s->c->arena, path, names->v, only, type, absent);
    *v = (struct value_io){.kind = VALUE_TENSOR, .present = true, .n = *t != NULL, .tensors = t};
    return *t != NULL;
}
static bool read_file(struct session *s, const char *path, enum value_kind kind, enum dtype type, struct value_io *v) {
    struct mapped_file f = {0};
    if (!value_read(&s->c->diags, &s->c->arena, path, kind, type, &f, v)) return false;
    PUSH(&s->c->arena, &s->files, f);
    return true;
}
/* *absent: path is an archive without such an array, which the caller may accept. */
static bool read_value(struct session *s, const char *path, const struct array_names *names, enum value_kind kind,
                       enum dtype type, struct value_io *v, bool *absent) {
    *absent = false;
    if (npz_is(path) ? !read_array(s, path, names, type, v, absent) : !read_file(s, path, kind, type, v)) return false;
    if (kind == VALUE_OPTIONAL && v->kind == VALUE_TENSOR) v->kind = kind; /* of NumPy */
    if (v->kind == kind || !v->present) return true;
    diag(&s->c->diags, DIAG_ERROR, E_TYPE, "%s holds %s, but the model has %s there", diag_quote(&s->c->arena, path),
         some_value(v->kind), some_value(kind));
    return false;
}
const char *data_file(struct ctx *c, const char *data, const char *stem, int k) {
    static const char *const endings[] = {"pb", "npy", "png", "jpg", "jpeg"};
    if (data && npz_is(data)) return data;
    for (int e = 0; e < 5 && data; e++) {
        const char *path = format(c, "%s/%s_%d.%s", data, stem, k, endings[e]);
        if (access(path, F_OK) == 0) return path;
    }
    return NULL;
}
bool session_reference(struct session *s, int k, const struct holder *p, struct value_io *v) {
    const char *path = data_file(s->c, s->o->data, "output", k);
    enum dtype type = p->n ? s->w->program->outs.v[p->first].buf->type : NONE;
    struct array_names names = array_names(s, "output", k, p->name);
    bool absent = false;
    return path && read_value(s, path, &names, p->kind, type, v, &absent);
}
bool session_references(struct session *s, struct tensor **want) {
    holders given = session_gives(s);
    bool any = false;
    for (int k = 0; k < given.n; k++) {
        const struct holder *h = &given.v[k];
        struct value_io x;
        if (h->kind != VALUE_TENSOR || !session_reference(s, k, h, &x) || x.n != 1) continue;
        want[h->first] = x.tensors[0];
        any = true;
    }
    return any;
}

/* ---- inputs */
static bool names_input(const char *option, const char *name) {
    size_t n = (size_t)(strrchr(option, '=') - option);
    return strlen(name) == n && !memcmp(name, option, n);
}
/* The file of input k; NULL: neither --input nor --data has one. */
static const char *input_file(struct session *s, int k, const char *name) {
    for (int j = s->o->inputs.n; j--;)
        if (names_input(s->o->inputs.v[j], name)) return strrchr(s->o->inputs.v[j], '=') + 1;
    return data_file(s->c, s->o->data, "input", k);
}
const struct shape_option *session_contents(void *env, int k, const char *name, enum value_kind kind) {
    struct session *s = env;
    const char *path = input_file(s, k, name);
    struct array_names names = array_names(s, "input", k, name);
    struct value_io v;
    bool absent;
    if (!path || !read_value(s, path, &names, kind, NONE, &v, &absent)) return NULL;
    struct shape *shapes = NEWN(&s->c->arena, struct shape, v.n + 1);
    for (int i = 0; i < v.n; i++) {
        shapes[i].rank = v.tensors[i]->rank;
        memcpy(shapes[i].dims, v.tensors[i]->dims, sizeof shapes[i].dims);
    }
    struct shape_option *x = NEW(&s->c->arena, struct shape_option);
    *x = (struct shape_option){.name = name, .none = !v.present, .n = v.n, .v = shapes, .from = path};
    return x;
}
/* Generated values that suit most models: small integers that are valid indices nearly everywhere, floats of both
 * signs, words. */
static struct tensor *made_up(struct session *s, int k, const struct io *io) {
    static const struct str_elem words[] = {{"alpha", 5}, {"beta", 4}, {"gamma", 5}, {"", 0}};
    int64_t dims[32];
    s->made_up = true;
    for (int d = 0; d < io->buf->nlogical; d++)
        if (!x_eval_int(io->buf->logical[d], program_typical, (void *)s->w->program, &dims[d]))
            BUG("dim %d of input %s has no value", d, io->buf->name);
    int64_t bytes = tensor_bytes(io->buf->type, dims, io->buf->nlogical);
    if (bytes < 0 || !memory_can((size_t)bytes)) {
        diag(&s->c->diags, DIAG_ERROR, bytes < 0 ? E_SIZE : E_ENV, "input %s, %s, is too large for made-up values: %s",
             diag_quote(&s->c->arena, io->buf->name), shape_text(s->w->program, io->buf),
             bytes < 0 ? "it cannot be addressed"
                       : format(s->c, "there is no memory for %lld bytes", (long long)bytes));
        diag_help(&s->c->diags, s->w->program->syms.n
                                    ? "--dim gives open sizes smaller values for a run"
                                    : "its size is fixed in the model; `compile` needs no values, and "
                                      "--data and --input take .npy files as they lie on disk");
        return NULL;
    }
    struct tensor *t = tensor_new(&s->c->arena, io->buf->type, dims, io->buf->nlogical);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        uint32_t h = ((uint32_t)i * 2654435761u) ^ ((uint32_t)(k + 1) * 2246822519u);
        h = (h ^ (h >> 15)) * 2246822519u;
        h ^= h >> 13;
        if (t->type == STR) ((struct str_elem *)tensor_data(t))[i] = words[h & 3];
        else if (dtype_is_float(t->type)) tensor_set_f(t, i, (double)(int32_t)(h >> 8) / 8388608.0 - 1.0);
        else tensor_set_i(t, i, h & 1);
    }
    return t;
}
void session_blame_inputs(struct session *s) {
    const struct program *p = s->w->program;
    enum { SHOWN = 8 };
    struct text sizes = {0};
    const struct diags *d = &s->c->diags;
    if (!s->made_up || (d->n && d->v[d->n - 1].code == E_ENV)) return; /* other values would not help */
    for (int y = 0; y < p->syms.n && y < SHOWN; y++)
        text_printf(&sizes, "%s%s = %lld", y ? ", " : " with ", diag_quote(&s->c->arena, p->syms.v[y]->name),
                    (long long)program_reference(p, p->syms.v[y]));
    if (p->syms.n > SHOWN) text_printf(&sizes, " and %d more sizes", p->syms.n - SHOWN);
    diag_help(&s->c->diags, "the inputs were made up%s; --data or --input gives values that the model takes%s",
              sizes.n ? sizes.s : "", p->syms.n ? ", --dim other sizes" : "");
    text_free(&sizes);
}
static bool options_name_inputs(struct session *s, const holders *p) {
    for (int j = 0; j < s->o->inputs.n; j++) {
        bool known = false;
        for (int k = 0; k < p->n; k++) known |= names_input(s->o->inputs.v[j], p->v[k].name);
        if (known) continue;
        diag(&s->c->diags, DIAG_ERROR, E_USAGE, "the model has no input as in --input %s",
             diag_quote(&s->c->arena, s->o->inputs.v[j]));
        const char *names = "";
        for (int k = 0; k < p->n; k++)
            names = format(s->c, "%s%s%s", names, k ? ", " : "", diag_quote(&s->c->arena, p->v[k].name));
        diag_help(&s->c->diags, "the model's inputs are: %s", *names ? names : "none");
        return false;
    }
    return true;
}
/* A state without given values has those of before the first run; false: the input is not a state. */
static bool first_state(struct session *s, const struct holder *p, struct tensor **to) {
    const states *kept = &s->w->program->m->kept;
    int64_t dims[32];
    for (int k = 0; k < kept->n; k++) {
        const struct buf *b = s->w->program->ins.v[p->first].buf;
        if (kept->v[k].input != p->first || b->type == STR) continue;
        for (int d = 0; d < b->nlogical; d++)
            if (!x_eval_int(b->logical[d], program_typical, (void *)s->w->program, &dims[d])) return false;
        to[0] = tensor_new(&s->c->arena, b->type, dims, b->nlogical);
        const struct tensor *init = kept->v[k].init;
        int64_t n = to[0] ? tensor_count(to[0]) : 0;
        if (init && tensor_count(init) == 1)
            for (int64_t i = 0; i < n; i++)
                if (dtype_is_float(b->type)) tensor_set_f(to[0], i, tensor_f(init, 0));
                else tensor_set_i(to[0], i, tensor_i(init, 0));
        else if (init && tensor_count(init) == n) tensor_unpack(init, tensor_data(to[0]));
        return to[0] != NULL;
    }
    return false;
}
/* Reports that no file has input k, or that the archive has not. */
static bool without_file(struct session *s, int k, const struct holder *p, const char *archive, struct tensor **to) {
    const char *name = diag_quote(&s->c->arena, p->name);
    if (first_state(s, p, to)) return true;
    if (archive) {
        diag(&s->c->diags, DIAG_ERROR, E_FILE, "%s has no array %s, and none that is called input_%d",
             diag_quote(&s->c->arena, archive), name, k);
        diag_help(&s->c->diags, "numpy.savez(FILE, **{name: array, ...}) writes arrays with their names");
    } else if (s->o->data)
        diag(&s->c->diags, DIAG_ERROR, E_FILE, "%s/input_%d.pb, input %s of the model, is missing", s->o->data, k,
             name);
    else if (s->o->inputs.n) diag(&s->c->diags, DIAG_ERROR, E_USAGE, "no values are given for input %s", name);
    if (archive || s->o->data || s->o->inputs.n) return false;
    for (int i = 0; i < p->n; i++)
        if (!(to[i] = made_up(s, p->first + i, &s->w->program->ins.v[p->first + i]))) return false;
    return true;
}
/* Converts the values given for p, in v, to tensors of the program. */
static bool take_value(struct session *s, const struct holder *p, const struct value_io *v, struct tensor **to) {
    const char *name = diag_quote(&s->c->arena, p->name);
    if (v->present != p->present || v->n != p->n) {
        diag(&s->c->diags, DIAG_ERROR, E_SHAPE, "input %s was compiled to hold %s, the values given hold %s", name,
             session_count(s, p->present, p->n), session_count(s, v->present, v->n));
        return false;
    }
    for (int i = 0; i < p->n; i++) {
        enum dtype type = s->w->program->ins.v[p->first + i].buf->type;
        to[i] = v->tensors[i];
        if (to[i]->type == type) continue;
        diag(&s->c->diags, DIAG_ERROR, E_TYPE, "input %s is of type %s, the values given are %s", name,
             dtype_name(type), dtype_name(to[i]->type));
        return false;
    }
    return true;
}
struct given_dims {
    const struct program *w;
    const int64_t *values; /* values of its symbols */
};
static bool given_leaf(void *env, expr e, int64_t *v) {
    const struct given_dims *g = env;
    for (int y = 0; e->op == X_SYM && y < g->w->syms.n; y++)
        if (g->w->syms.v[y] == e->u.sym) return *v = g->values[y], true;
    return false;
}
static bool fits(const struct io *io, const struct tensor *t, struct given_dims *g) {
    int64_t n;
    bool same = io->buf->nlogical == t->rank;
    for (int d = 0; d < t->rank && same; d++)
        same = !x_eval_int(io->buf->logical[d], given_leaf, g, &n) || n == t->dims[d];
    return same;
}
/* The program would report this too, but without the names of the symbols. */
static bool shapes_fit(struct session *s, struct tensor *const *inputs) {
    const struct program *w = s->w->program;
    struct given_dims g = {w, session_dims(s, inputs)};
    for (int k = 0; k < w->ins.n; k++) {
        if (fits(&w->ins.v[k], inputs[k], &g)) continue;
        struct text t = {0}, symbols = {0};
        for (int d = 0; d < inputs[k]->rank; d++)
            text_printf(&t, "%s%lld", d ? "," : "", (long long)inputs[k]->dims[d]);
        for (int y = 0; y < w->syms.n; y++)
            text_printf(&symbols, "%s%s = %lld", y ? ", " : "", program_sym(s->w->program, w->syms.v[y]),
                        (long long)g.values[y]);
        diag(&s->c->diags, DIAG_ERROR, E_SHAPE, "input %s is %s, the values given are %s[%s]",
             diag_quote(&s->c->arena, w->ins.v[k].buf->name), shape_text(s->w->program, w->ins.v[k].buf),
             dtype_name(inputs[k]->type), t.s ? t.s : "");
        if (symbols.s) diag_help(&s->c->diags, "by the inputs, %s", symbols.s);
        text_free(&t);
        text_free(&symbols);
        return false;
    }
    return true;
}
/* The tensors of input k, p. */
static bool read_input(struct session *s, int k, const struct holder *p, struct tensor **to) {
    const char *path = input_file(s, k, p->name);
    const struct io *io = &s->w->program->ins.v[p->first];
    struct array_names names = array_names(s, "input", k, p->name);
    struct value_io v;
    bool absent;
    if (!path) return without_file(s, k, p, NULL, to);
    if (picture_is(path) && p->kind == VALUE_TENSOR) return (to[0] = session_picture(s, path, io)) != NULL;
    if (read_value(s, path, &names, p->kind, p->n ? io->buf->type : NONE, &v, &absent)) return take_value(s, p, &v, to);
    return absent && without_file(s, k, p, path, to);
}
/* Settings for pictures in gcc2nn.toml are meant for models that get some. */
static bool options_fit(struct session *s) {
    const char *name = option_given(s->o, "mean") ? "mean" : option_given(s->o, "scale") ? "scale" : NULL;
    if (!name || s->pictures) return true;
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--%s is of pictures, and no input is one", name);
    diag_help(&s->c->diags, "values of other files are taken as they are; `gcc2nn surgeon --mean --scale` puts the "
                            "arithmetic into the model");
    return false;
}
struct tensor **session_inputs(struct session *s) {
    const struct program *w = s->w->program;
    struct tensor **v = NEWN(&s->c->arena, struct tensor *, w->ins.n + 1);
    holders p = session_takes(s);
    if (!options_name_inputs(s, &p)) return NULL;
    for (int k = 0; k < p.n; k++)
        if (!read_input(s, k, &p.v[k], v + p.v[k].first)) return NULL;
    return options_fit(s) && shapes_fit(s, v) ? v : NULL;
}

/* ---- outputs */
static struct tensor *part_of(struct session *s, const struct tensor *cells, int64_t at, const int64_t *dims,
                              int rank) {
    struct tensor *t = tensor_new(&s->c->arena, cells->type, dims, rank);
    int64_t n = t ? tensor_count(t) : -1, bytes = dtype_bytes(cells->type);
    if (n < 0 || n > tensor_count(cells) - at) return NULL;
    if (t->type == STR) {
        t->strs = cells->strs + at;
        return t;
    }
    if (dtype_bits(cells->type) % 8 == 0) {
        memcpy(tensor_data(t), (const char *)cells->bytes + at * bytes, (size_t)(n * bytes));
        return t;
    }
    for (int64_t k = 0; k < n; k++) { /* packed elements, one by one */
        if (dtype_is_float(t->type)) tensor_set_f(t, k, tensor_f(cells, at + k));
        else tensor_set_i(t, k, tensor_i(cells, at + k));
    }
    return t;
}
/* The elements of a packed sequence, split from its cells. */
static bool cut(struct session *s, const struct tensor *cells, const struct tensor *shapes, struct value_io *x) {
    int64_t dims[32], at = 0, rank = shapes->dims[1];
    if (shapes->dims[0] > INT32_MAX) return false;
    x->n = (int)shapes->dims[0];
    x->tensors = NEWN(&s->c->arena, struct tensor *, x->n + 1);
    for (int k = 0; k < x->n; k++) {
        for (int64_t d = 0; d < rank; d++) dims[d] = tensor_i(shapes, k * rank + d);
        if (!(x->tensors[k] = part_of(s, cells, at, dims, (int)rank))) return false;
        at += tensor_count(x->tensors[k]);
    }
    return at == tensor_count(cells);
}
bool session_output(struct session *s, const struct holder *p, struct tensor *const *outputs, struct value_io *x) {
    int first = p->first + p->asked;
    *x = (struct value_io){.kind = p->kind, .name = p->name, .present = p->present, .n = p->n - p->asked};
    if (p->asked && !tensor_i(outputs[p->first], 0)) x->present = false, x->n = 0;
    x->tensors = NEWN(&s->c->arena, struct tensor *, p->n + 1);
    for (int i = 0; i < x->n; i++) x->tensors[i] = outputs[first + i];
    if (!p->packed || !x->present || cut(s, outputs[first], outputs[first + 1], x)) return true;
    diag(&s->c->diags, DIAG_ERROR, E_SHAPE, "output %s: the shapes of its elements and their cells differ",
         diag_quote(&s->c->arena, p->name));
    return false;
}
/* NULL: a diagnostic. */
static const char *output_name(struct session *s, int k, const struct value_io *v) {
    const char *pb = format(s->c, "output_%d.pb", k), *npy = format(s->c, "output_%d.npy", k);
    if (value_fits_proto(v)) return pb;
    if (v->kind != VALUE_TENSOR) {
        diag(&s->c->diags, DIAG_ERROR, E_WRITE, "output %d, %s, is too large for a file: protobuf ends at 2 GiB", k,
             diag_quote(&s->c->arena, v->name));
        return NULL;
    }
    if (access(format(s->c, "%s/%s", s->o->out, pb), F_OK) == 0) { /* readers would look for the .pb file first */
        diag(&s->c->diags, DIAG_ERROR, E_WRITE, "output %d must be written as %s, but %s is there from another run", k,
             npy, diag_quote(&s->c->arena, format(s->c, "%s/%s", s->o->out, pb)));
        diag_help(&s->c->diags, "remove it, or give another folder with --out");
        return NULL;
    }
    diag(&s->c->diags, DIAG_NOTE, E_WRITE, "output %d is written as %s: protobuf ends at 2 GiB", k, npy);
    return npy;
}
static bool write_output(struct session *s, struct file_set *files, int k, const struct holder *q,
                         struct tensor *const *outputs) {
    struct value_io x;
    if (!session_output(s, q, outputs, &x)) return false;
    for (int i = 0; i < x.n; i++) x.tensors[i]->name = q->kind == VALUE_TENSOR ? q->name : NULL;
    const char *name = output_name(s, k, &x);
    if (!name || !value_write(files, name, &x)) return false;
    PUSH(&s->c->arena, &s->written, format(s->c, "%s/%s", s->o->out, name));
    return true;
}
bool session_write_outputs(struct session *s, struct tensor *const *outputs) {
    holders p = session_gives(s);
    struct file_set files;
    if (!s->o->out) return true;
    bool ok = file_set_begin(&files, &s->c->diags, s->o->out), begun = ok;
    for (int k = 0; k < p.n && ok; k++) ok = write_output(s, &files, k, &p.v[k], outputs);
    if (ok) return file_set_commit(&files);
    if (begun) file_set_abandon(&files);
    return false;
}
