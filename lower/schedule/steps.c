/* The schedule steps: one row each, and the way a line of a schedule becomes one applied step. Stands between lowering
 * (naive nests) and code generation; each step is in the file steps_NAME.c, a few with their likes. */
#include "lower/schedule/steps_util.h"
#include <string.h>

const struct step_row step_rows[] = {
    {"split", "LOOP FACTOR OUTER INNER [cut|cut2|guard|overlap] | LOOP OUTER INNER sizes=[N|N*COUNT ..]", false,
     apply_split,
     "LOOP becomes OUTER*FACTOR + INNER. The rest: cut = a nest of its own; cut2 = one "
     "(optional) tile for each power of two; "
     "guard = a test at each store; overlap = the last tile starts early; sizes = tiles of these sizes, COUNT of "
     "each."},
    {"cut", "LOOP N", false, apply_cut, "The first N iterations (N < 0: the last -N) become a nest of their own."},
    {"reorder", "LOOP LOOP ..", true, apply_reorder,
     "Puts the named loops of each perfect nest into this order, from outside to inside."},
    {"fuse", "OUTER INNER NAME", false, apply_fuse, "Two perfectly nested loops become one."},
    {"kind", "serial|parallel|vector|unroll|gpu.block.x|..|gpu.thread.z LOOP ..", false, apply_kind,
     "How the loops are run."},
    {"outline", "LOOP", false, apply_outline, "The loop is printed as a function of its own."},
    {"layout", "BUFFER [DIM ..] [pad DIM:CELLS ..] [scope=reg|stack|arena|shared]", false, apply_layout,
     "New physical dims: d, d/c, d%c, d/%c,n = (d//c)%n, d+lo,hi = halo, d%%r = ring of r, d*e = d and e flattened. "
     "pad: extra cells of a dim's pitch."},
    {"compute_at", "BUFFER LOOP [reg|stack|arena|shared|region] [roll=DIM]", false, apply_compute_at,
     "Moves the buffer's stage into LOOP, shrunk to what one iteration reads. roll: keeps what earlier iterations "
     "computed along DIM."},
    {"cache_read", "BUFFER NEW READER", false, apply_cache_read,
     "A new stage copies BUFFER to NEW; the stages that write READER read the copy."},
    {"cache_write", "BUFFER NEW", false, apply_cache_write,
     "BUFFER's stage computes into NEW; a new stage copies it to BUFFER."},
    {"rfactor", "BUFFER LOOP LANES NEW", true, apply_rfactor,
     "The reduction over LOOP gives LANES partial results in NEW, which BUFFER then reduces, with what is left over."},
    {"carry", "LOOP OUTER BUFFER", false, apply_carry,
     "The reduction loop moves outside of OUTER; between its iterations BUFFER's cells wait in the output."},
    {"join", "LOOP LOOP", false, apply_join, "Two adjacent loops of equal extent become one."},
    {"specialize", "LOOP CONDITION NAME", false, apply_specialize,
     "if CONDITION: LOOP, else: a copy of it, whose loops are called NAME.LOOP. CONDITION: 7<M, M<=H*2, 1<#LOOP (its "
     "extent), joined by &; no spaces."},
    {"widen", "LOOP N", false, apply_widen,
     "LOOP runs to the next multiple of N; what it computes more goes into lanes behind the last channel, which "
     "nothing "
     "else reads."},
    {"inline", "BUFFER", false, apply_inline, "The value of BUFFER's stage takes the place of its loads."},
    {"prefetch", "BUFFER AT AHEAD [SPREAD ..]", false, apply_prefetch,
     "In loop AT: touches what the next iteration of AHEAD reads of BUFFER, the lines spread evenly over the loops "
     "SPREAD."},
    {"pipeline", "LOOP [BUFFER ..]", false, apply_pipeline,
     "The stages that fill the buffers run one iteration ahead, into the other of two slots."},
    {"tensorize", "INSTRUCTION", false, apply_tensorize,
     "Replaces every nest that equals the instruction's body by the instruction."},
    {"scratch", "BUFFER", false, apply_scratch,
     "The caller gives the buffer's storage: it becomes a parameter, and its allocation goes."},
    {"border", "RESULT", false, apply_border,
     "Zeros in the cells that a layout with a halo put around the result, and in pad lanes that nothing stores to."},
    {"over", "RESULT OPERAND", false, apply_over,
     "The result takes the storage of the operand, which is no parameter of its own any more."},
    {"within", "RESULT OPERAND", false, apply_within,
     "The operand, which was copied into the result, lies there from the start: the copies go."},
    {NULL, NULL, false, NULL, NULL},
};
const struct step_row *step_row_by_name(const char *name) {
    for (const struct step_row *r = step_rows; r->name; r++)
        if (!strcmp(r->name, name)) return r;
    return NULL;
}

/* ---- words */
static bool space(char ch) { return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n'; }
static const char *piece(struct step *s, const char *from, const char *to) {
    return internn(s->c->names, from, (size_t)(to - from));
}
static bool parse_list(struct step *s, const char **at, struct word *w) {
    struct {
        const char **v;
        int n, cap;
    } items = {0};
    const char *p = *at + 1;
    for (;;) {
        while (space(*p)) p++;
        if (!*p) return false;
        if (*p == ']') break;
        const char *from = p;
        while (*p && !space(*p) && *p != ']') p++;
        PUSH(&s->tmp, &items, piece(s, from, p));
    }
    *at = p + 1;
    w->is_list = true;
    w->items = items.v;
    w->n = items.n;
    return !**at || space(**at);
}
static bool parse_words(struct step *s, const char *p) {
    struct {
        struct word *v;
        int n, cap;
    } out = {0};
    for (;;) {
        while (space(*p)) p++;
        if (!*p) break;
        struct word w = {0};
        const char *from = p;
        while (*p && !space(*p) && *p != '[' && *p != '=') p++;
        if (*p == '=' && p > from && p[1] != '=' && p[-1] != '<' && p[-1] != '>' && p[-1] != '!') {
            w.key = piece(s, from, p);
            from = ++p;
            while (*p && !space(*p) && *p != '[') p++;
        } else if (*p == '=') { /* part of a condition */
            while (*p && !space(*p)) p++;
        }
        if (*p == '[') {
            if (p != from || !parse_list(s, &p, &w)) return false;
        } else {
            w.text = piece(s, from, p);
        }
        PUSH(&s->tmp, &out, w);
    }
    s->w = out.v;
    s->n = out.n;
    return true;
}
static const char *normal_line(struct step *s, const char *line) {
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

/* ---- all or nothing: a copy of what a step may change. Variables and expressions never change and are shared. */
struct saved_buf {
    struct buf *at;
    struct buf was;
};
struct saved {
    struct block body;
    struct proc proc;
    struct saved_buf *bufs;
};

#define KEEP(a, p, n) ((p) = (p) && (n) ? arena_copy((a), (p), (size_t)(n) * sizeof *(p)) : (p))
static void copy_block(struct arena *a, const struct block *from, struct block *to, struct stmt *owner) {
    *to = (struct block){.owner = owner};
    for (const struct stmt *t = from->first; t; t = t->next) {
        struct stmt *n = arena_copy(a, t, sizeof *t);
        struct block *sub[2], *old[2];
        n->in = NULL;
        n->prev = n->next = NULL;
        block_append(to, n);
        if (n->kind == S_STORE) KEEP(a, n->u.store.idx, n->u.store.n);
        if (n->kind == S_CALL) KEEP(a, n->u.call.args, n->u.call.nargs), KEEP(a, n->u.call.bufs, n->u.call.nbufs);
        if (n->kind == S_INSTR) KEEP(a, n->u.instr.holes, n->u.instr.n);
        stmt_blocks((struct stmt *)t, old);
        for (int k = 0, m = stmt_blocks(n, sub); k < m; k++) copy_block(a, old[k], sub[k], n);
    }
}
static struct buf copy_buf(struct arena *a, const struct buf *b) {
    struct buf r = *b;
    KEEP(a, r.dims, r.nd);
    KEEP(a, r.pad, r.nd);
    KEEP(a, r.map, r.nd);
    KEEP(a, r.logical, r.nlogical);
    KEEP(a, r.lvar, r.nlogical);
    return r;
}
static struct proc copy_lists(struct arena *a, const struct proc *p) {
    struct proc r = *p;
    KEEP(a, r.params.v, r.params.n);
    KEEP(a, r.syms.v, r.syms.n);
    KEEP(a, r.bufs.v, r.bufs.n);
    KEEP(a, r.steps.v, r.steps.n);
    r.params.cap = r.params.n, r.syms.cap = r.syms.n, r.bufs.cap = r.bufs.n, r.steps.cap = r.steps.n;
    return r;
}
static struct saved save(struct step *s) {
    struct saved r = {.proc = copy_lists(&s->tmp, s->p), .bufs = NEWN(&s->tmp, struct saved_buf, s->p->bufs.n)};
    copy_block(&s->tmp, &s->p->body, &r.body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++)
        r.bufs[k] = (struct saved_buf){s->p->bufs.v[k], copy_buf(&s->tmp, s->p->bufs.v[k])};
    return r;
}
static void restore(struct step *s, const struct saved *r) {
    struct arena *a = &s->c->arena;
    *s->p = copy_lists(a, &r->proc);
    copy_block(a, &r->body, &s->p->body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++) *r->bufs[k].at = copy_buf(a, &r->bufs[k].was);
}

/* ---- applying */
/* A step after kind may move apart what a vector loop accesses. */
static bool vectors_ok(struct step *s) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_FOR && all.v[k]->u.loop.kind == LK_VECTOR && !vector_strides_ok(s, all.v[k]))
            return false;
    return true;
}
static enum step_effect apply(struct ctx *c, struct proc *p, const char *line, const struct instr_row *instr) {
    struct step s = {.c = c, .p = p};
    enum step_effect effect = STEP_REFUSED;
    s.line = normal_line(&s, line);
    lower_stages(c, p);
    bool words = parse_words(&s, s.line);
    if (words && s.n && s.w[0].text && !s.w[0].key) s.row = step_row_by_name(s.w[0].text);
    if (!words) {
        step_refuse(&s, "a list is [a b c], with its closing bracket", "cannot be read");
    } else if (!s.row) {
        struct text t = {0};
        for (const struct step_row *r = step_rows; r->name; r++) text_printf(&t, " %s", r->name);
        step_refuse(&s, arena_printf(&c->arena, "steps are:%s", t.s), "there is no such step");
        text_free(&t);
    } else {
        s.w++, s.n--;
        struct saved before = save(&s);
        if ((instr ? tensorize_with(&s, instr) : s.row->apply(&s)) && vectors_ok(&s)) {
            PUSH(&c->arena, &p->steps, s.line);
            effect = s.reassociates ? STEP_REASSOCIATES : STEP_EXACT;
        } else {
            restore(&s, &before);
        }
    }
    arena_free(&s.tmp);
    return effect;
}
enum step_effect step_effect_of(struct ctx *c, struct proc *p, const char *line) { return apply(c, p, line, NULL); }
bool step_apply(struct ctx *c, struct proc *p, const char *line) { return apply(c, p, line, NULL) != STEP_REFUSED; }
bool step_tensorize(struct ctx *c, struct proc *p, const struct instr_row *row) {
    return apply(c, p, arena_printf(&c->arena, "tensorize %s", row->name), row) != STEP_REFUSED;
}

bool steps_replay(struct ctx *c, struct proc *p) {
    for (int k = 0; k < p->todo.n; k++)
        if (!step_apply(c, p, p->todo.v[k])) return false;
    p->todo.n = 0;
    return true;
}
bool steps_apply(struct ctx *c, struct proc *p, const char *text) {
    lower_stages(c, p);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ";\n");
        char *line = arena_printf(&c->arena, "%.*s", (int)n, at);
        char *word = line;
        while (space(*word)) word++;
        if (*word && *word != '#' && !step_apply(c, p, word)) return false;
        at += n + (at[n] != 0);
    }
    return true;
}
