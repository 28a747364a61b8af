/* From --op and --op-path to rows: finds the files and operators, and merges what two files say about one operator. See
 * custom.h. */
#include "compiler/custom/custom.h"
#include "compiler/custom/source.h"
#include "compiler/import/file.h"
#include "ir/graph/op.h"
#include <string.h>

/* ---- messages */
static void tell(struct source *s, enum severity severity, struct source_place at, const char *fmt, va_list ap) {
    struct diags *d = &s->c->diags;
    struct text t = {0};
    text_vprintf(&t, fmt, ap);
    diag_at(d, severity, E_CUSTOM, format(s->c, "%s:%d:%d", s->file->path, at.line, at.column), NULL, "%s",
            t.s ? t.s : "");
    text_free(&t);
    const char *p = s->file->text, *end = p + s->file->n;
    for (int line = 1; line < at.line && p < end; p++) line += *p == '\n';
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (at.line > 0) diag_excerpt(d, at.line, p, (size_t)((stop ? stop : end) - p), at.column, at.width);
}
void source_error(struct source *s, struct source_place at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(s, DIAG_ERROR, at, fmt, ap);
    va_end(ap);
}
void source_tell(struct source *s, enum severity severity, struct source_place at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(s, severity, at, fmt, ap);
    va_end(ap);
}

/* ---- files */
static const struct {
    const char *ending;
    enum foreign_language language;
} endings[] = {
    {".c", FOREIGN_C}, {".cpp", FOREIGN_CPP}, {".cc", FOREIGN_CPP}, {".cxx", FOREIGN_CPP}, {".cu", FOREIGN_CUDA}};
static int ending_of(const char *path) {
    for (int k = 0; k < (int)(sizeof endings / sizeof *endings); k++)
        if (ends_with(path, endings[k].ending)) return k;
    return -1;
}
struct customs {
    struct ctx *c;
    const struct custom_options *o;
    custom_op_list all;
    VEC(struct foreign_source *) files;
};
/* A C identifier from an arbitrary name. */
const char *c_word(struct ctx *c, const char *s) {
    struct text t = {0};
    for (; *s && t.n < 40; s++) text_char(&t, in_word(*s) ? *s : '_');
    return text_take(&t, &c->arena);
}
/* The name for its files in the output; further files of the same name get numbers. */
static const char *stem_of(struct customs *q, const char *path, int ending) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *plain = c_word(q->c, internn(q->c->names, name, strlen(name) - strlen(endings[ending].ending)));
    const char *stem = plain;
    for (int n = 2, k = 0; k < q->files.n; k++)
        if (!strcmp(q->files.v[k]->stem, stem)) stem = format(q->c, "%s_%d", plain, n++), k = -1;
    return stem;
}
static bool fail_usage(struct ctx *c, const char *option, const char *value, const char *what) {
    diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--%s: %s: %s", option, diag_quote(&c->arena, value), what);
    return false;
}
static bool read_file(struct customs *q, const char *path, const char *op, const char *function) {
    enum { MOST = 16 << 20 };
    struct ctx *c = q->c;
    struct mapped_file f = {0};
    int ending = ending_of(path);
    struct foreign_source *s = NEW(&c->arena, struct foreign_source);
    struct source *reading = NEW(&c->arena, struct source);
    if (ending < 0) {
        diag_at(&c->diags, DIAG_ERROR, E_CUSTOM, path, NULL, "it is no source of an operator");
        diag_help(&c->diags, "its name ends in .c, .cpp or .cu");
        return false;
    }
    if (!file_map(&c->diags, path, &f)) return false;
    bool ok = f.size <= MOST && !memchr(f.bytes ? f.bytes : (const uint8_t *)"", 0, f.size);
    if (!ok) diag_at(&c->diags, DIAG_ERROR, E_CUSTOM, path, NULL, "it is no text, or one of more than 16 MB");
    size_t mark = f.size >= 3 && !memcmp(f.bytes, "\xef\xbb\xbf", 3) ? 3 : 0; /* a byte order mark, only at the very
                                                                               * beginning */
    size_t n = f.size - mark;
    char *text = arena_alloc(&c->arena, n + 1);
    if (n) memcpy(text, f.bytes + mark, n);
    text[n] = 0;
    *s = (struct foreign_source){
        .path = path, .stem = stem_of(q, path, ending), .language = endings[ending].language, .text = text, .n = n};
    file_unmap(&f);
    *reading = (struct source){.c = c, .file = s, .op = op, .wanted = function};
    if (!ok || !source_read(reading, &q->all)) return false;
    PUSH(&c->arena, &q->files, s);
    PUSH(&c->arena, &c->files_read, path);
    return true;
}
/* DOMAIN:NAME=FILE[:FUNCTION] */
static bool read_option(struct customs *q, const char *value) {
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1]) return fail_usage(q->c, "op", value, "DOMAIN:NAME=FILE expected");
    const char *op = internn(q->c->names, value, (size_t)(equals - value)), *path = equals + 1;
    const char *colon = strrchr(path, ':'), *function = NULL;
    if (colon && ending_of(path) < 0) {
        function = colon + 1;
        path = internn(q->c->names, path, (size_t)(colon - path));
    }
    return read_file(q, path, op, function);
}
static bool read_folder(struct customs *q, const char *folder) {
    struct ctx *c = q->c;
    path_list all = {0};
    int sources = 0;
    bool ok = true;
    if (!folder_paths(&c->arena, folder, &all))
        return fail_usage(c, "op-path", folder, "no folder, or one that cannot be read");
    for (int k = 0; k < all.n; k++) {
        if (ending_of(all.v[k]) < 0) continue;
        ok &= read_file(q, all.v[k], NULL, NULL);
        sources++;
    }
    if (!sources) return fail_usage(c, "op-path", folder, "it holds no .c, .cpp or .cu file");
    return ok;
}

/* ---- two sources of one operator: a body for the CPU and one for the GPU */
static bool same_dims(const struct foreign_op_param *a, const struct foreign_op_param *b) {
    bool same = a->shaped == b->shaped && a->ndims == b->ndims;
    for (int k = 0; k < a->ndims && same; k++) {
        const struct foreign_dim *x = &a->dims[k], *y = &b->dims[k];
        same = x->many == y->many && x->varies == y->varies && !x->name == !y->name &&
               (!x->name || !strcmp(x->name, y->name));
    }
    return same;
}
static bool same_params(const struct foreign_op *a, const struct foreign_op *b) {
    if (a->n != b->n || a->ntypes != b->ntypes || a->each || b->each || a->result != b->result) return false;
    for (int k = 0; k < a->n; k++) {
        const struct foreign_op_param *x = &a->params[k], *y = &b->params[k];
        if (strcmp(x->name, y->name) != 0 || x->use != y->use || x->type != y->type || x->of != y->of ||
            x->attribute != y->attribute || x->list != y->list || x->optional != y->optional || !same_dims(x, y))
            return false;
    }
    return true;
}
static bool merge(struct ctx *c, struct custom_op *a, const struct custom_op *b) {
    bool same_kind = (a->op->cpu.source && b->op->cpu.source) || (a->op->gpu.source && b->op->gpu.source);
    if (same_kind) {
        source_error((struct source *)b->from, b->at, "operator %s is defined twice", diag_quote(&c->arena, b->op->op));
        diag_help(&c->diags, "the other one is %s:%d", a->from->file->path, a->at.line);
        return false;
    }
    if (!same_params(a->op, b->op)) {
        source_error((struct source *)b->from, b->at, "the bodies of operator %s have different parameters",
                     diag_quote(&c->arena, b->op->op));
        diag_help(&c->diags, "names, types and shapes must be those of %s:%d; @each is for one body alone",
                  a->from->file->path, a->at.line);
        return false;
    }
    const struct foreign_op *gpu = a->op->gpu.source ? a->op : b->op;
    memcpy(a->op->grid, gpu->grid, sizeof a->op->grid);
    if (!a->op->cpu.source) a->op->cpu = b->op->cpu;
    else a->op->gpu = b->op->gpu;
    return true;
}
/* The word is what functions in the output are called, behind the program's name: that of another domain, or cut short,
 * is another one, and so is what the source itself calls something of its own. */
static bool word_is_taken(struct ctx *c, const struct foreign_op *op) {
    const struct foreign_source *sources[] = {op->cpu.source, op->gpu.source};
    for (int k = 0; k < 2; k++)
        if (sources[k] && strstr(sources[k]->text, format(c, "_%s", op->word))) return true;
    for (int k = 0; k < c->own_ops.n; k++)
        if (!strcmp(c->own_ops.v[k]->foreign->word, op->word)) return true;
    return false;
}
static bool add_row(struct customs *q, struct custom_op *new) {
    struct ctx *c = q->c;
    if (op_find(new->row->domain, new->row->name)) {
        source_error((struct source *)new->from, new->at, "gcc2nn has an operator %s of its own",
                     diag_quote(&c->arena, new->op->op));
        diag_help(&c->diags, "use another domain, in the model too");
        return false;
    }
    const char *word = new->op->word;
    for (int n = 2; word_is_taken(c, new->op); n++) new->op->word = internf(c->names, "%s_%d", word, n);
    new->op->load = q->o->load;
    PUSH(&c->arena, &c->own_ops, new->row);
    return true;
}
bool custom_ops(struct ctx *c, const struct custom_options *o) {
    struct customs q = {.c = c, .o = o};
    bool ok = true;
    for (int k = 0; k < o->nops; k++) ok &= read_option(&q, o->ops[k]);
    for (int k = 0; k < o->npaths; k++) ok &= read_folder(&q, o->paths[k]);
    for (int k = 0; ok && k < q.all.n; k++) {
        struct custom_op *first = NULL;
        for (int j = 0; j < k && !first; j++)
            if (!strcmp(q.all.v[j].op->op, q.all.v[k].op->op)) first = &q.all.v[j];
        ok = first ? merge(c, first, &q.all.v[k]) : add_row(&q, &q.all.v[k]);
    }
    return ok;
}
