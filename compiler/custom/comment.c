/* The comment of an operator's function: what its C does not say. Tags as Doxygen has them, each on a line of its own:
 *
 *   @op my.domain:Sparse           the operator, where --op does not say it
 *   @param x [rows..., d] text     the dims of a pointer's tensor; before them what 16 bits are, f16[d] or bf16[d];
 * behind them `optional`
 *   @param xs [count][n, d[]]      a list of tensors, whose number is count, whose d differ
 *   @attr alpha = 0.5 text         a number that is an attribute of the node; a text, = "words"
 *   @attr axes [n] optional text   a list, whose length is n
 *   @each rows                     the function is called for each index of that dim
 *   @grid n, 1, 1                  blocks, and with @block threads of each, for a function of the GPU
 *
 * Dims are formulas over names; a name that has no value yet stands for the size that is found there. */
#include "compiler/custom/source.h"
#include <stdlib.h>
#include <string.h>

struct reader {
    struct source *s;
    const char *text, *p, *end; /* the comment; where we are; the end of the line */
    const char *line_begin;
    struct source_place at; /* of line_begin */
    const struct comment *out;
    bool failed;
    int depth;
};
static struct source_place here(const struct reader *r, int width) {
    return (struct source_place){r->at.line, r->at.column + (int)(r->p - r->line_begin), width};
}
static bool fail_at(struct reader *r, struct source_place at, const char *what) {
    if (!r->failed) source_error(r->s, at, "%s", what);
    r->failed = true;
    return false;
}
static bool fail_here(struct reader *r, const char *what) { return fail_at(r, here(r, 1), what); }
static void blanks(struct reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) r->p++;
}
static bool accept(struct reader *r, const char *punct) {
    size_t n = strlen(punct);
    blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, punct, n) != 0) return false;
    r->p += n;
    return true;
}
static const char *word(struct reader *r) {
    blanks(r);
    const char *from = r->p;
    if (r->p == r->end || !begins_word(*r->p)) return NULL;
    while (r->p < r->end && in_word(*r->p)) r->p++;
    return internn(r->s->c->names, from, (size_t)(r->p - from));
}

/* ---- formulas */
static const struct formula *sum(struct reader *r);
static struct formula *formula_new(struct reader *r, enum formula_kind kind, enum xop op, const struct formula *a,
                                   const struct formula *b) {
    struct formula *f = NEW(&r->s->c->arena, struct formula);
    *f = (struct formula){.kind = kind, .op = op, .type = IDX, .arg = {a, b}, .length = 1};
    for (int k = 0; k < 2 && f->arg[k]; k++) f->length += f->arg[k]->length;
    if (f->length > FORMULA_LENGTH) fail_here(r, "a formula that is too long");
    return f;
}
/* sum(d), where d differs between the tensors of a list, is treated as a name. */
static bool is_sum(const struct reader *r, const char *name, const struct formula *const *args, int n) {
    bool found = false;
    for (int k = 0; !strcmp(name, "sum") && n == 1 && k < r->out->nparams; k++)
        for (int d = 0; d < r->out->params[k].ndims; d++)
            found |= r->out->params[k].dims[d].varies && r->out->params[k].dims[d].name == args[0]->name;
    return found;
}
static const struct formula *call(struct reader *r, const char *name, struct source_place at) {
    const struct formula *args[8];
    int n = 0;
    while (!accept(r, ")")) {
        if (n == 8) return fail_here(r, "a function of more than 8 arguments"), NULL;
        if (n && !accept(r, ",")) return fail_here(r, "`,` or `)` expected"), NULL;
        if (!(args[n++] = sum(r))) return NULL;
    }
    bool min = !strcmp(name, "min"), max = !strcmp(name, "max");
    if ((min || max) && n == 2) return formula_new(r, FORMULA_XOP, min ? X_MIN : X_MAX, args[0], args[1]);
    if (is_sum(r, name, args, n)) {
        struct formula *f = formula_new(r, FORMULA_NAME, X_POISON, NULL, NULL);
        f->name = internf(r->s->c->names, "sum(%s)", args[0]->name);
        return f;
    }
    const struct formula *f = r->s->function(r->s, name, args, n, at);
    r->failed |= !f;
    return f;
}
static const struct formula *atom(struct reader *r) {
    blanks(r);
    struct source_place at = here(r, 1);
    if (r->depth > 60) return fail_here(r, "a formula that nests too deeply"), NULL;
    if (accept(r, "(")) {
        r->depth++;
        const struct formula *f = sum(r);
        r->depth--;
        return f && !accept(r, ")") ? (fail_here(r, "`)` expected"), NULL) : f;
    }
    if (accept(r, "-")) {
        r->depth++;
        const struct formula *f = atom(r);
        r->depth--;
        return f ? formula_new(r, FORMULA_XOP, X_NEG, f, NULL) : NULL;
    }
    if (r->p < r->end && is_digit(*r->p)) {
        int64_t v = 0;
        for (; r->p < r->end && is_digit(*r->p); r->p++)
            if (v > INT32_MAX) return fail_here(r, "a number that is too large"), NULL;
            else v = 10 * v + (*r->p - '0');
        struct formula *f = formula_new(r, FORMULA_NUMBER, X_POISON, NULL, NULL);
        f->whole = v;
        return f;
    }
    const char *name = word(r);
    if (!name) return fail_here(r, "a size expected: a name, a number, or a formula of these"), NULL;
    at.width = (int)strlen(name);
    if (accept(r, "(")) return call(r, name, at);
    struct formula *f = formula_new(r, FORMULA_NAME, X_POISON, NULL, NULL);
    f->name = name;
    return f;
}
static const struct formula *term(struct reader *r) {
    const struct formula *f = atom(r), *b;
    while (f) {
        bool times = accept(r, "*"), by = !times && accept(r, "/"), rest = !times && !by && accept(r, "%");
        if (!times && !by && !rest) break;
        if (!(b = atom(r))) return NULL;
        f = formula_new(r, times ? FORMULA_XOP : by ? FORMULA_DIV : FORMULA_REST, X_MUL, f, b);
    }
    return f;
}
static const struct formula *sum(struct reader *r) {
    const struct formula *f = term(r), *b;
    while (f) {
        bool plus = accept(r, "+"), minus = !plus && accept(r, "-");
        if (!plus && !minus) break;
        if (!(b = term(r))) return NULL;
        f = formula_new(r, FORMULA_XOP, plus ? X_ADD : X_SUB, f, b);
    }
    return f;
}
static bool read_dim(struct reader *r, struct foreign_dim *d) {
    const struct formula *f = sum(r);
    if (!f) return false;
    *d = f->kind == FORMULA_NAME ? (struct foreign_dim){.name = f->name} : (struct foreign_dim){.value = f};
    if (accept(r, "...")) d->many = true;
    else if (accept(r, "[]")) d->varies = true;
    return d->name || !(d->many || d->varies) ? true : fail_here(r, "`...` and `[]` stand behind a name");
}

/* ---- tags */
static bool accept_word(struct reader *r, const char *want) {
    const char *from = r->p, *found = word(r);
    bool same = found && !strcmp(found, want);
    if (!same) r->p = from;
    return same;
}
/* The 16-bit type in front of dims: bf16[n, d]. */
static enum dtype half_type(struct reader *r) {
    const char *from = r->p, *found = word(r);
    enum dtype t = !found ? NONE : !strcmp(found, "f16") ? F16 : !strcmp(found, "bf16") ? BF16 : NONE;
    if (t == NONE || r->p == r->end || *r->p != '[') return r->p = from, NONE;
    return t;
}
/* After the `[`. */
static bool read_dims(struct reader *r, struct comment_param *p) {
    while (!accept(r, "]")) {
        if (p->ndims == FOREIGN_DIMS) return fail_here(r, "too many dims");
        if (p->ndims && !accept(r, ",")) return fail_here(r, "`,` or `]` expected");
        if (!read_dim(r, &p->dims[p->ndims])) return false;
        p->ndims++;
    }
    return true;
}
static bool tag_param(struct reader *r, struct comment *out) {
    enum { MOST = sizeof out->params / sizeof *out->params };
    if (accept(r, "[in]") || accept(r, "[out]") || accept(r, "[in,out]")) blanks(r); /* Doxygen's */
    blanks(r);
    struct source_place at = here(r, 1);
    const char *name = word(r);
    if (!name) return fail_here(r, "a parameter's name expected");
    if (out->nparams == MOST) return fail_here(r, "too many parameters");
    for (int k = 0; k < out->nparams; k++)
        if (out->params[k].name == name) return fail_at(r, at, "this parameter was said before");
    struct comment_param *p = &out->params[out->nparams++];
    at.width = (int)strlen(name);
    *p = (struct comment_param){.name = name, .at = at};
    p->type = half_type(r);
    if (!accept(r, "[")) return p->optional = accept_word(r, "optional"), true;
    p->shaped = true;
    if (!read_dims(r, p)) return false;
    if (r->p < r->end && *r->p == '[') { /* a list: the first brackets give their number */
        if (p->ndims != 1 || !p->dims[0].name || p->dims[0].many || p->dims[0].varies)
            return fail_at(r, at, "a list of tensors has one number of them: `[count][n, d]`");
        p->tensors = p->dims[0].name, p->ndims = 0, r->p++;
        if (!read_dims(r, p)) return false;
    }
    p->optional = accept_word(r, "optional");
    return true;
}
/* "words", of which none is escaped: the end of the line, or of the comment, is no part of it. */
static bool default_text(struct reader *r, struct comment_attr *a) {
    const char *from = r->p, *to = memchr(from, '"', (size_t)(r->end - from));
    if (!to) return fail_here(r, "a `\"` that ends the text is missing");
    a->text = internn(r->s->c->names, from, (size_t)(to - from));
    a->has_default = true;
    r->p = to + 1;
    return true;
}
static bool tag_attr(struct reader *r, struct comment *out) {
    enum { MOST = sizeof out->attrs / sizeof *out->attrs };
    blanks(r);
    struct source_place at = here(r, 1);
    const char *name = word(r);
    if (!name) return fail_here(r, "an attribute's name expected");
    if (out->nattrs == MOST) return fail_here(r, "too many attributes");
    for (int k = 0; k < out->nattrs; k++)
        if (out->attrs[k].name == name) return fail_at(r, at, "this attribute was said before");
    at.width = (int)strlen(name);
    struct comment_attr *a = &out->attrs[out->nattrs++];
    *a = (struct comment_attr){.name = name, .at = at};
    if (accept(r, "[")) {
        blanks(r);
        if (!(a->count = word(r))) return fail_here(r, "the name of the parameter that has its length expected");
        if (!accept(r, "]")) return fail_here(r, "`]` expected");
    }
    a->optional = accept_word(r, "optional");
    if (a->count || a->optional || !accept(r, "=")) return true;
    if (accept(r, "\"")) return default_text(r, a);
    blanks(r);
    char number[64];
    size_t n = 0;
    while (r->p + n < r->end && n + 1 < sizeof number && r->p[n] != ' ' && r->p[n] != '\t') number[n] = r->p[n], n++;
    number[n] = 0;
    char *end;
    a->value = strtod(number, &end);
    a->has_default = true;
    return end != number && !*end ? true : fail_here(r, "a number expected");
}
static bool tag_sizes(struct reader *r, const struct formula **to) {
    for (int k = 0; k < 3; k++) {
        if (k && !accept(r, ",")) break;
        if (!(to[k] = sum(r))) return false;
    }
    return true;
}
static bool tag_op(struct reader *r, struct comment *out) {
    blanks(r);
    const char *from = r->p;
    out->op_at = here(r, 1);
    while (r->p < r->end && *r->p != ' ' && *r->p != '\t') r->p++;
    out->op_at.width = (int)(r->p - from);
    out->op = internn(r->s->c->names, from, (size_t)(r->p - from));
    return *out->op ? true : fail_here(r, "DOMAIN:NAME expected");
}
static bool tag_each(struct reader *r, struct comment *out) {
    blanks(r);
    out->each_at = here(r, 1);
    out->each = word(r);
    if (!out->each) return fail_here(r, "the name of a dim expected");
    out->each_at.width = (int)strlen(out->each);
    return true;
}
static bool tag(struct reader *r, const char *name, struct comment *out) {
    if (!strcmp(name, "param")) return tag_param(r, out);
    if (!strcmp(name, "attr")) return tag_attr(r, out);
    if (!strcmp(name, "op")) return tag_op(r, out);
    if (!strcmp(name, "each")) return tag_each(r, out);
    bool grid = !strcmp(name, "grid");
    if (!grid && strcmp(name, "block") != 0) return true; /* a tag of Doxygen or of another tool */
    out->grid_at = here(r, 1);
    return tag_sizes(r, out->grid + (grid ? 0 : 3));
}
bool comment_read(struct source *s, const char *text, struct source_place at, struct comment *out) {
    struct reader r = {.s = s, .text = text, .at = at, .out = out};
    *out = (struct comment){0};
    for (const char *p = text; *p && !r.failed;) {
        size_t n = strcspn(p, "\n");
        r.p = r.line_begin = p;
        r.end = p + n;
        for (const char *close = p; close + 1 < p + n; close++)
            if (close[0] == '*' && close[1] == '/') r.end = close;
        while (r.p < r.end && strchr(" \t/*!<\r", *r.p)) r.p++;
        while (r.end > r.p && strchr(" \t\r", r.end[-1])) r.end--;
        if (r.p < r.end && (*r.p == '@' || *r.p == '\\')) {
            r.p++;
            const char *name = word(&r);
            if (name && !tag(&r, name, out)) r.failed = true;
        }
        p += n + (p[n] == '\n');
        r.at.line++, r.at.column = 1;
    }
    struct formula *one = formula_new(&r, FORMULA_NUMBER, X_POISON, NULL, NULL);
    one->whole = 1;
    for (int k = 0; k < 6; k++)
        if (!out->grid[k]) out->grid[k] = one;
    return !r.failed;
}
const char *formula_unnamed(const struct formula *f, bool (*known)(void *env, const char *name), void *env) {
    if (f->kind == FORMULA_NAME && !known(env, f->name)) return f->name;
    for (int k = 0; k < 3 && f->arg[k]; k++) {
        const char *name = formula_unnamed(f->arg[k], known, env);
        if (name) return name;
    }
    return NULL;
}
