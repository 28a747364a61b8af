/* Steps as text: one reader and one printer for all kinds, driven by the fields listed in steps_table.c. The printed
 * form is canonical, and reading it gives the same step. */
#include "lower/schedule/steps_util.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A word of a step:  name  |  key=value  |  [a b c]  |  key=[a b c] */
struct word {
    const char *key, *text;
    bool is_list, taken;
    struct word_list items;
};
struct words {
    struct word *v;
    int n, cap;
};

/* ---- words */
static bool space(char ch) { return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n'; }
static const char *piece(struct step_run *s, const char *from, const char *to) {
    return internn(s->c->names, from, (size_t)(to - from));
}
static bool read_list(struct step_run *s, const char **at, struct word *w) {
    VEC(const char *) items = {0};
    const char *p = *at + 1;
    for (;;) {
        while (space(*p)) p++;
        if (!*p) return false;
        if (*p == ']') break;
        const char *from = p;
        while (*p && !space(*p) && *p != ']') p++;
        PUSH(&s->c->arena, &items, piece(s, from, p));
    }
    *at = p + 1;
    w->is_list = true;
    w->items = (struct word_list){items.v ? items.v : NEWN(&s->c->arena, const char *, 1), items.n, items.n};
    return !**at || space(**at);
}
static bool read_words(struct step_run *s, const char *p, struct words *out) {
    for (;;) {
        while (space(*p)) p++;
        if (!*p) return true;
        struct word w = {0};
        const char *from = p;
        while (*p && !space(*p) && *p != '[' && *p != '=') p++;
        if (*p == '=' && p > from && p[1] != '=' && p[-1] != '<' && p[-1] != '>' && p[-1] != '!') {
            w.key = piece(s, from, p);
            from = ++p;
            while (*p && !space(*p) && *p != '[') p++;
        } else if (*p == '=') { /* the = is part of a condition */
            while (*p && !space(*p)) p++;
        }
        if (*p == '[') {
            if (p != from || !read_list(s, &p, &w)) return false;
        } else {
            w.text = piece(s, from, p);
        }
        PUSH(&s->tmp, out, w);
    }
}
static const char *normal_line(struct step_run *s, const char *line) {
    struct text t = {0};
    for (bool gap = false; *line; line++) {
        if (space(*line)) {
            gap = true;
            continue;
        }
        if (gap && t.n) text_char(&t, ' ');
        gap = false;
        text_char(&t, *line);
    }
    const char *r = intern(s->c->names, t.s ? t.s : "");
    text_free(&t);
    return r;
}

/* ---- numbers and dims */
static bool word_int(const char *t, int64_t *v) {
    char *end;
    errno = 0;
    long long x = strtoll(t, &end, 10);
    *v = x;
    return *t && *t != ' ' && !*end && !errno;
}
/* A whole number that floats represent exactly, or an infinity. */
static bool word_fill(const char *t, double *v) {
    int64_t whole = 0;
    bool infinite = !strcmp(t, "inf") || !strcmp(t, "-inf");
    if (!infinite && (!word_int(t, &whole) || whole < -32768 || whole > 65535)) return false;
    *v = !infinite ? (double)whole : *t == '-' ? -INFINITY : INFINITY;
    return true;
}
static bool digits(const char **at, int64_t *v) {
    size_t n = strspn(*at, "0123456789");
    if (!n || n > 12) return false;
    for (*v = 0; n--; ++*at) *v = *v * 10 + (**at - '0');
    return true;
}
static const struct {
    const char *t;
    enum dim_form form;
    bool two; /* numbers */
} dim_forms[] = {{"/%", DIM_DIVMOD, true}, {"%%", DIM_RING, false}, {"/", DIM_DIV, false},
                 {"%", DIM_MOD, false},    {"+", DIM_HALO, true},   {"*", DIM_FLAT, false}};
enum { DIM_FORMS = sizeof dim_forms / sizeof *dim_forms };
/* d  d/c  d%c  d/%c,n  d+lo,hi  d%%r  d*e */
static bool read_dim(const char *at, struct layout_dim *d) {
    int64_t v;
    int k = 0;
    *d = (struct layout_dim){0};
    if (!digits(&at, &v) || v > 31) return false;
    d->d = (int)v;
    if (!*at) return true;
    while (k < DIM_FORMS && strncmp(at, dim_forms[k].t, strlen(dim_forms[k].t))) k++;
    if (k == DIM_FORMS) return false;
    at += strlen(dim_forms[k].t);
    d->form = dim_forms[k].form;
    if (!digits(&at, &d->a) || (dim_forms[k].two && (*at++ != ',' || !digits(&at, &d->b))) || *at) return false;
    bool block = d->form != DIM_HALO && d->form != DIM_FLAT;
    return !block || (d->a > 0 && (d->form != DIM_DIVMOD || d->b > 0));
}
static void print_dim(struct text *t, const struct layout_dim *d) {
    text_printf(t, "%d", d->d);
    for (int k = 0; k < DIM_FORMS; k++) {
        if (d->form != dim_forms[k].form) continue;
        text_printf(t, "%s%lld", dim_forms[k].t, (long long)d->a);
        if (dim_forms[k].two) text_printf(t, ",%lld", (long long)d->b);
    }
}

/* ---- words from a fixed set */
static const char *tail_text(int k) {
    static const char *const names[TAIL_COUNT] = {"", "cut", "cut2", "guard", "overlap"};
    return names[k];
}
static const char *kind_text(int k) { return loop_kind_name((enum loop_kind)k); }
static const char *scope_text(int k) { return scope_name((enum scope)k); }
/* The index of `text` among the names [0, n), except those in the bit set `not`; -1: none. */
static int choice(const char *text, const char *(*name)(int), int n, unsigned not ) {
    for (int k = 0; k < n; k++)
        if (!(not >> k & 1) && !strcmp(name(k), text)) return k;
    return -1;
}
enum {
    NO_PLACE = 1 << SC_PARAM | 1 << SC_CONST,
    NO_SCOPE = NO_PLACE | 1 << SC_REGION | 1 << SC_KEPT,
};

/* ---- reading fields */
enum got { ABSENT, GOT, REFUSED };
/* The first word without a key that is not used yet and is a list, or is not, as asked. */
static struct word *next_word(struct words *w, bool list) {
    for (int k = 0; k < w->n; k++)
        if (!w->v[k].taken && !w->v[k].key) return w->v[k].is_list == list ? &w->v[k] : NULL;
    return NULL;
}
static struct word *keyed_word(struct words *w, const char *key, bool list) {
    for (int k = 0; k < w->n; k++)
        if (!w->v[k].taken && w->v[k].key && !strcmp(w->v[k].key, key) && w->v[k].is_list == list) return &w->v[k];
    return NULL;
}
static enum got read_names(struct step_run *s, struct words *w, struct word_list *to) {
    VEC(const char *) v = {0};
    for (struct word *x; (x = next_word(w, false)); x->taken = true) PUSH(&s->c->arena, &v, x->text);
    *to = (struct word_list){v.v, v.n, v.n};
    return v.n ? GOT : ABSENT;
}
/* SIZE or SIZE*COUNT. */
static enum got read_sizes(struct step_run *s, const struct word_list *items, struct tile_sizes *to) {
    *to = (struct tile_sizes){NEWN(&s->c->arena, struct tile_size, items->n + 1), items->n};
    for (int k = 0; k < items->n; k++) {
        const char *item = items->v[k], *star = strchr(item, '*');
        struct tile_size *z = &to->v[k];
        z->count = 1;
        bool ok = !star || (word_int(star + 1, &z->count) && z->count > 0);
        if (!ok || !word_int(star ? piece(s, item, star) : item, &z->size) || z->size < 1) {
            step_refuse(s, NULL, "`%s` is no size of a tile", item);
            return REFUSED;
        }
    }
    return GOT;
}
static enum got read_dims(struct step_run *s, const struct word_list *items, struct layout_dims *to) {
    *to = (struct layout_dims){NEWN(&s->c->arena, struct layout_dim, items->n + 1), items->n, items->n};
    for (int k = 0; k < items->n; k++)
        if (!read_dim(items->v[k], &to->v[k])) {
            step_refuse(s, "dims are d, d/c, d%c, d/%c,n, d+lo,hi, d%%r and d*e", "`%s` is no dim of a layout",
                        items->v[k]);
            return REFUSED;
        }
    return GOT;
}
/* pad DIM:CELLS .. */
static enum got read_pads(struct step_run *s, struct words *w, struct layout_pads *to) {
    VEC(struct layout_pad) v = {0};
    struct word *x = next_word(w, false);
    if (!x || strcmp(x->text, "pad")) return ABSENT;
    x->taken = true;
    while ((x = next_word(w, false))) {
        const char *at = x->text;
        struct layout_pad pad;
        if (!digits(&at, &pad.d) || *at++ != ':' || !digits(&at, &pad.cells) || *at) return ABSENT;
        PUSH(&s->c->arena, &v, pad);
        x->taken = true;
    }
    *to = (struct layout_pads){v.v, v.n};
    return GOT;
}
static enum got read_word(struct step_run *s, const struct step_field *f, const struct word *x, void *to) {
    int k = 0;
    switch (f->type) {
    case FIELD_WORD: *(const char **)to = x->text; return GOT;
    case FIELD_INT: return word_int(x->text, to) ? GOT : ABSENT;
    case FIELD_FILL: return word_fill(x->text, to) ? GOT : ABSENT;
    case FIELD_LIST: *(struct word_list *)to = x->items; return x->items.n < f->least ? ABSENT : GOT;
    case FIELD_SIZES: return read_sizes(s, &x->items, to);
    case FIELD_DIMS: return read_dims(s, &x->items, to);
    case FIELD_TAIL: *(enum step_tail *)to = (enum step_tail)(k = choice(x->text, tail_text, TAIL_COUNT, 1)); break;
    case FIELD_KIND: *(enum loop_kind *)to = (enum loop_kind)(k = choice(x->text, kind_text, LK_COUNT, 0)); break;
    case FIELD_PLACE: *(enum scope *)to = (enum scope)(k = choice(x->text, scope_text, SC_COUNT, NO_PLACE)); break;
    case FIELD_SCOPE: *(enum scope *)to = (enum scope)(k = choice(x->text, scope_text, SC_COUNT, NO_SCOPE)); break;
    case FIELD_WORDS:
    case FIELD_PADS: BUG("a field of several words");
    }
    return k < 0 ? ABSENT : GOT;
}
static enum got read_field(struct step_run *s, const struct step_field *f, struct words *w, void *to) {
    if (f->type == FIELD_WORDS) {
        enum got r = read_names(s, w, to);
        return ((struct word_list *)to)->n < f->least ? ABSENT : r;
    }
    if (f->type == FIELD_PADS) return read_pads(s, w, to);
    struct word *x = f->key ? keyed_word(w, f->key, field_is_list(f->type)) : next_word(w, field_is_list(f->type));
    if (!x) return ABSENT;
    enum got r = read_word(s, f, x, to);
    x->taken = r == GOT;
    return r;
}
/* Reads the words after the name as the row's fields. ABSENT: they have another form. */
static enum got read_form(struct step_run *s, const struct step_row *row, const struct words *from, struct step *out) {
    struct words w = {NEWN(&s->tmp, struct word, from->n + 1), from->n, from->n};
    for (int k = 0; k < w.n; k++) w.v[k] = from->v[k];
    memset(out, 0, sizeof *out);
    out->kind = row->kind;
    for (const struct step_field *f = row->fields; f < row->fields + MAX_STEP_FIELDS && f->label; f++) {
        void *to = (char *)out + f->at;
        enum got r = read_field(s, f, &w, to);
        if (r == REFUSED) return r;
        if (r == GOT) continue;
        if (f->least) return ABSENT;
        if (f->type == FIELD_INT) *(int64_t *)to = f->absent;
        if (f->type == FIELD_FILL) *(double *)to = 0;
        if (f->type == FIELD_TAIL) *(enum step_tail *)to = TAIL_NONE;
        if (f->type == FIELD_PLACE || f->type == FIELD_SCOPE) *(enum scope *)to = SC_PARAM;
    }
    for (int k = 0; k < w.n; k++)
        if (!w.v[k].taken) return ABSENT;
    return GOT;
}
static bool no_such_step(struct step_run *s) {
    struct text t = {0};
    for (const struct step_row *r = step_rows; r->name; r++)
        if (r == step_rows || strcmp(r->name, r[-1].name)) text_printf(&t, " %s", r->name);
    step_refuse(s, arena_printf(&s->c->arena, "steps are:%s", t.s), "there is no such step");
    text_free(&t);
    return false;
}
static bool read_step(struct step_run *s, struct step *out) {
    struct words w = {0};
    const struct step_row *named = NULL;
    if (!read_words(s, s->line, &w))
        return step_refuse(s, "a list is [a b c], with its closing bracket", "cannot be read");
    if (w.n && w.v[0].text && !w.v[0].key) {
        w.v[0].taken = true;
        for (const struct step_row *r = step_rows; r->name; r++) {
            if (strcmp(r->name, w.v[0].text)) continue;
            enum got g = read_form(s, named = r, &w, out);
            if (g != ABSENT) return g == GOT;
        }
    }
    if (!named) return no_such_step(s);
    return step_usage(s);
}
bool step_parse(struct ctx *c, const struct proc *p, const char *line, struct step *out) {
    struct step_run s = {.c = c, .p = (struct proc *)p, .step = out, .rows = step_rows};
    s.line = normal_line(&s, line);
    bool ok = read_step(&s, out);
    arena_free(&s.tmp);
    return ok;
}
bool layout_parse(struct ctx *c, const struct proc *p, const char *spec, const char *buf, struct step *out) {
    bool ok = step_parse(c, p, arena_printf(&c->arena, "layout buffer %s", spec), out);
    if (ok) out->u.layout.buf = buf;
    return ok;
}

/* ---- printing */
static void print_names(struct text *t, const struct word_list *n) {
    for (int k = 0; k < n->n; k++) text_printf(t, "%s%s", k ? " " : "", n->v[k]);
}
/* Prints nothing for fields that were left out. */
static void print_value(struct text *t, const struct step_field *f, const void *from) {
    const struct word_list *names = from;
    const struct tile_sizes *sizes = from;
    const struct layout_dims *dims = from;
    const struct layout_pads *pads = from;
    switch (f->type) {
    case FIELD_WORD:
        if (*(const char *const *)from) text_add(t, *(const char *const *)from);
        break;
    case FIELD_INT:
        if (f->least || *(const int64_t *)from != f->absent) text_printf(t, "%lld", (long long)*(const int64_t *)from);
        break;
    case FIELD_FILL:
        if (*(const double *)from != 0) text_printf(t, "%.0f", *(const double *)from);
        break;
    case FIELD_WORDS: print_names(t, names); break;
    case FIELD_LIST:
        if (!names->v) break;
        text_char(t, '['), print_names(t, names), text_char(t, ']');
        break;
    case FIELD_TAIL: text_add(t, tail_text((int)*(const enum step_tail *)from)); break;
    case FIELD_KIND: text_add(t, kind_text((int)*(const enum loop_kind *)from)); break;
    case FIELD_PLACE:
    case FIELD_SCOPE:
        if (*(const enum scope *)from != SC_PARAM) text_add(t, scope_name(*(const enum scope *)from));
        break;
    case FIELD_SIZES:
        for (int k = 0; k < sizes->n; k++) {
            text_printf(t, "%s%lld", k ? " " : "[", (long long)sizes->v[k].size);
            if (sizes->v[k].count != 1) text_printf(t, "*%lld", (long long)sizes->v[k].count);
        }
        text_add(t, sizes->n ? "]" : "[]");
        break;
    case FIELD_DIMS:
        if (!dims->v) break;
        text_char(t, '[');
        for (int k = 0; k < dims->n; k++) text_add(t, k ? " " : ""), print_dim(t, &dims->v[k]);
        text_char(t, ']');
        break;
    case FIELD_PADS:
        if (pads->n) text_add(t, "pad");
        for (int k = 0; k < pads->n; k++)
            text_printf(t, " %lld:%lld", (long long)pads->v[k].d, (long long)pads->v[k].cells);
        break;
    }
}
const char *step_text(struct ctx *c, const struct step *s) {
    const struct step_row *row = &step_rows[s->kind];
    struct text t = {0}, value = {0};
    text_add(&t, row->name);
    for (const struct step_field *f = row->fields; f < row->fields + MAX_STEP_FIELDS && f->label; f++) {
        value.n = 0;
        print_value(&value, f, (const char *)s + f->at);
        if (!value.n) continue;
        text_char(&t, ' ');
        if (f->key) text_printf(&t, "%s=", f->key);
        text_add(&t, value.s);
    }
    const char *r = intern(c->names, t.s);
    text_free(&t), text_free(&value);
    return r;
}
