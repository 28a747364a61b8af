/* The schedule steps: one row each, with the fields of its text, and the way a step is applied, completely or not at
 * all. Stands between lowering (naive nests) and code generation; each step is in the file steps_NAME.c, a few with
 * their likes. */
#include "lower/schedule/steps_util.h"
#include <stddef.h>
#include <string.h>

// clang-format off
#define AT(member)                   offsetof(struct step, u.member)
#define WORD(label, member)          {label, FIELD_WORD, AT(member), 1, NULL, 0}
#define NUMBER(label, member)        {label, FIELD_INT, AT(member), 1, NULL, 0}
#define WORDS(label, member, least)  {label, FIELD_WORDS, AT(member), least, NULL, 0}
#define MAYBE(label, type, member)   {label, type, AT(member), 0, NULL, 0}
const struct step_row step_rows[STEP_KIND_COUNT + 1] = {
    {"split", STEP_SPLIT,
     {WORD("LOOP", split.loop), NUMBER("FACTOR", split.factor), WORD("OUTER", split.outer), WORD("INNER", split.inner), MAYBE("cut|cut2|guard|overlap", FIELD_TAIL, split.tail)},
     false, apply_split,
     "LOOP becomes OUTER*FACTOR + INNER. The rest: cut = a nest of its own; cut2 = one (optional) tile for each power of two; guard = a test at each store; overlap = the last tile starts early."},
    {"split", STEP_TILES,
     {WORD("LOOP", tiles.loop), WORD("OUTER", tiles.outer), WORD("INNER", tiles.inner), {"N|N*COUNT ..", FIELD_SIZES, AT(tiles.sizes), 1, "sizes", 0}},
     false, apply_tiles,
     "LOOP becomes a loop OUTER over tiles of each of these sizes, COUNT of each, with INNER inside."},
    {"cut", STEP_CUT,
     {WORD("LOOP", cut.loop), NUMBER("N", cut.n)},
     false, apply_cut,
     "The first N iterations (N < 0: the last -N) become a nest of their own."},
    {"reorder", STEP_REORDER,
     {WORDS("LOOP LOOP ..", reorder.loops, 2)},
     true, apply_reorder,
     "Puts the named loops of each perfect nest into this order, from outside to inside."},
    {"fuse", STEP_FUSE,
     {WORD("OUTER", fuse.outer), WORD("INNER", fuse.inner), WORD("NAME", fuse.name)},
     false, apply_fuse,
     "Two perfectly nested loops become one."},
    {"kind", STEP_KIND,
     {{"serial|parallel|vector|unroll|gpu.block.x|..|gpu.thread.z", FIELD_KIND, AT(kind.kind), 1, NULL, 0}, WORDS("LOOP ..", kind.loops, 1)},
     false, apply_kind,
     "How the loops are run."},
    {"grain", STEP_GRAIN,
     {WORD("LOOP", grain.loop), NUMBER("N", grain.n)},
     false, apply_grain,
     "N iterations of the parallel LOOP are worth a thread of their own, fewer are not."},
    {"outline", STEP_OUTLINE,
     {WORD("LOOP", outline.loop)},
     false, apply_outline,
     "The loop is printed as a function of its own."},
    {"layout", STEP_LAYOUT,
     {WORD("BUFFER", layout.buf), MAYBE("DIM ..", FIELD_DIMS, layout.dims), MAYBE("pad DIM:CELLS ..", FIELD_PADS, layout.pads), {"VALUE", FIELD_INT, AT(layout.fill), 0, "fill", 0}, {"reg|stack|arena|shared", FIELD_SCOPE, AT(layout.scope), 0, "scope", 0}},
     false, apply_layout,
     "New physical dims: d, d/c, d%c, d/%c,n = (d//c)%n, d+lo,hi = halo, d%%r = ring of r, d*e = d and e flattened. pad: extra cells of a dim's pitch. fill: what the halo of a parameter holds."},
    {"compute_at", STEP_COMPUTE_AT,
     {WORD("BUFFER", compute_at.buf), WORD("LOOP", compute_at.loop), MAYBE("reg|stack|arena|shared|region", FIELD_PLACE, compute_at.scope), {"DIM", FIELD_INT, AT(compute_at.roll), 0, "roll", -1}},
     false, apply_compute_at,
     "Moves the buffer's stage into LOOP, shrunk to what one iteration reads. roll: keeps what earlier iterations computed along DIM."},
    {"cache_read", STEP_CACHE_READ,
     {WORD("BUFFER", cache_read.buf), WORD("NEW", cache_read.name), WORD("READER", cache_read.reader)},
     false, apply_cache_read,
     "A new stage copies BUFFER to NEW; the stages that write READER read the copy."},
    {"cache_write", STEP_CACHE_WRITE,
     {WORD("BUFFER", cache_write.buf), WORD("NEW", cache_write.name)},
     false, apply_cache_write,
     "BUFFER's stage computes into NEW; a new stage copies it to BUFFER."},
    {"rfactor", STEP_RFACTOR,
     {WORD("BUFFER", rfactor.buf), WORD("LOOP", rfactor.loop), NUMBER("LANES", rfactor.lanes), WORD("NEW", rfactor.name)},
     true, apply_rfactor,
     "The reduction over LOOP gives LANES partial results in NEW, which BUFFER then reduces, with what is left over."},
    {"carry", STEP_CARRY,
     {WORD("LOOP", carry.loop), WORD("OUTER", carry.outer), WORD("BUFFER", carry.buf)},
     false, apply_carry,
     "The reduction loop moves outside of OUTER; between its iterations BUFFER's cells wait in the output."},
    {"join", STEP_JOIN,
     {WORD("LOOP", join.first), WORD("LOOP", join.second)},
     false, apply_join,
     "Two adjacent loops of equal extent become one."},
    {"specialize", STEP_SPECIALIZE,
     {WORD("LOOP", specialize.loop), WORD("CONDITION", specialize.cond), WORD("NAME", specialize.name)},
     false, apply_specialize,
     "if CONDITION: LOOP, else: a copy of it, whose loops are called NAME.LOOP. CONDITION: 7<M, M<=H*2, 1<#LOOP (its extent), joined by &; no spaces."},
    {"widen", STEP_WIDEN,
     {WORD("LOOP", widen.loop), NUMBER("N", widen.n)},
     false, apply_widen,
     "LOOP runs to the next multiple of N; what it computes more goes into lanes behind the last channel, which nothing else reads."},
    {"pad", STEP_PAD,
     {WORD("LOOP", pad.loop), NUMBER("N", pad.n)},
     true, apply_pad,
     "LOOP of a sum of products runs to the next multiple of N; behind their ends the operands are zero."},
    {"inline", STEP_INLINE,
     {WORD("BUFFER", of.buf)},
     false, apply_inline,
     "The value of BUFFER's stage takes the place of its loads."},
    {"prefetch", STEP_PREFETCH,
     {WORD("BUFFER", prefetch.buf), WORD("AT", prefetch.at), WORD("AHEAD", prefetch.ahead), MAYBE("SPREAD ..", FIELD_LIST, prefetch.spread)},
     false, apply_prefetch,
     "In loop AT: touches what the next iteration of AHEAD reads of BUFFER, the lines spread evenly over the loops SPREAD."},
    {"pipeline", STEP_PIPELINE,
     {WORD("LOOP", pipeline.loop), {"BUFFER ..", FIELD_LIST, AT(pipeline.bufs), 1, NULL, 0}},
     false, apply_pipeline,
     "The stages that fill the buffers run one iteration ahead, into the other of two slots."},
    {"tensorize", STEP_TENSORIZE,
     {WORD("INSTRUCTION", tensorize.instr)},
     false, apply_tensorize,
     "Replaces every nest that equals the instruction's body by the instruction."},
    {"scratch", STEP_SCRATCH,
     {WORD("BUFFER", of.buf)},
     false, apply_scratch,
     "The caller gives the buffer's storage: it becomes a parameter, and its allocation goes."},
    {"border", STEP_BORDER,
     {WORD("RESULT", of.buf)},
     false, apply_border,
     "Fills the cells that a layout with a halo put around the result, and zeroes pad lanes that nothing stores to."},
    {"over", STEP_OVER,
     {WORD("RESULT", over.result), WORD("OPERAND", over.operand)},
     false, apply_over,
     "The result takes the storage of the operand, which is no parameter of its own any more."},
    {"within", STEP_WITHIN,
     {WORD("RESULT", within.result), WORD("OPERAND", within.operand)},
     false, apply_within,
     "The operand, which was copied into the result, lies there from the start: the copies go."},
    {NULL, STEP_KIND_COUNT, {{NULL, FIELD_WORD, 0, 0, NULL, 0}}, false, NULL, NULL},
};
// clang-format on

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
static struct saved save(struct step_run *s) {
    struct saved r = {.proc = copy_lists(&s->tmp, s->p), .bufs = NEWN(&s->tmp, struct saved_buf, s->p->bufs.n)};
    copy_block(&s->tmp, &s->p->body, &r.body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++)
        r.bufs[k] = (struct saved_buf){s->p->bufs.v[k], copy_buf(&s->tmp, s->p->bufs.v[k])};
    return r;
}
static void restore(struct step_run *s, const struct saved *r) {
    struct arena *a = &s->c->arena;
    *s->p = copy_lists(a, &r->proc);
    copy_block(a, &r->body, &s->p->body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++) *r->bufs[k].at = copy_buf(a, &r->bufs[k].was);
}

/* ---- applying */
/* A step after kind may move apart what a vector loop accesses. */
static bool vectors_ok(struct step_run *s) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_FOR && all.v[k]->u.loop.kind == LK_VECTOR && !vector_strides_ok(s, all.v[k]))
            return false;
    return true;
}
static enum step_effect apply(struct ctx *c, struct proc *p, const struct step *step, const struct instr_row *instr) {
    struct step_run s = {.c = c, .p = p, .step = step, .line = step_text(c, step)};
    enum step_effect effect = STEP_REFUSED;
    lower_stages(c, p);
    struct saved before = save(&s);
    if ((instr ? tensorize_with(&s, instr) : step_rows[step->kind].apply(&s)) && vectors_ok(&s)) {
        PUSH(&c->arena, &p->steps, s.line);
        effect = s.reassociates ? STEP_REASSOCIATES : STEP_EXACT;
    } else {
        restore(&s, &before);
    }
    arena_free(&s.tmp);
    return effect;
}
bool step_do(struct ctx *c, struct proc *p, const struct step *s) { return apply(c, p, s, NULL) != STEP_REFUSED; }
enum step_effect step_effect_of(struct ctx *c, struct proc *p, const char *line) {
    struct step s;
    return step_parse(c, p, line, &s) ? apply(c, p, &s, NULL) : STEP_REFUSED;
}
bool step_apply(struct ctx *c, struct proc *p, const char *line) { return step_effect_of(c, p, line) != STEP_REFUSED; }
bool tensorize_row(struct ctx *c, struct proc *p, const struct instr_row *row) {
    struct step s = {.kind = STEP_TENSORIZE, .u.tensorize = {row->name}};
    return apply(c, p, &s, row) != STEP_REFUSED;
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
        const char *word = line + strspn(line, " \t\r");
        if (*word && *word != '#' && !step_apply(c, p, word)) return false;
        at += n + (at[n] != 0);
    }
    return true;
}
