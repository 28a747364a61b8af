/* Building, rewriting and cloning of the loop IR, and stages to nests. */
#include "ir/expr/print.h"
#include "ir/loop/kinds.h"
#include "loop_text.h"

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(loop, .init = setup, .fini = teardown);

static struct module *parse(const char *s) {
    struct module *m = loop_parse(c, s, strlen(s), "t.lir");
    cr_assert(m, "%s\n%s", complaints(c), s);
    return m;
}
static void reads(const struct module *m, const char *text) {
    char *s = printed(m);
    cr_assert_str_eq(s, text);
    free(s);
    cr_assert(loop_verify((struct module *)m, NULL), "%s", complaints(c));
}

Test(loop, stages_become_nests) {
    struct module *m = parse("proc p(x: f32[8,N] in, y: f32[8] out, z: f32[2,4] out logical [8] map [d0//4,d0%4]) [N]\n"
                             "  stage y[r<8] reduce max [k<N] = x[r,k]\n"
                             "  stage z[i<8] = y[i] + 1.0\n");
    lower_stages(c, m->procs.v[0]);
    reads(m, "proc p(x: f32[8,N] in, y: f32[8] out, z: f32[2,4] out logical [8] map [d0//4,d0%4]) [N]\n"
             "  for r<8  # y.r\n"
             "    y[r] = -inf\n"
             "  for r<8  # y.r\n"
             "    for k<N  # y.k\n"
             "      y[r] max= x[r,k]\n"
             "  for i<8  # z.i\n"
             "    z[i//4,i%4] = y[i] + 1.0\n");
}
Test(loop, stages_inside_of_branches_are_lowered_too) {
    struct module *m = parse("proc p(x: f32[] in, y: f32[] out) [N]\n  if N < 4\n    stage y[] reduce + [] init 2.0 = "
                             "x[]\n  else\n    stage y[] = x[]\n");
    lower_stages(c, m->procs.v[0]);
    reads(m,
          "proc p(x: f32[] in, y: f32[] out) [N]\n  if N < 4\n    y[] = 2.0\n    y[] += x[]\n  else\n    y[] = x[]\n");
}

static const char *const nest = "proc p(x: f32[N] in, y: f32[N] out) [N in 1..100]\n"
                                "  for i<N\n"
                                "    for j<i+1\n"
                                "      if j < 3\n"
                                "        y[i] = x[j]\n"
                                "      else\n"
                                "        y[i] = 0.0\n";
Test(loop, substitution_renews_variables_and_collapses_conditions) {
    struct module *m = parse(nest);
    struct proc *p = m->procs.v[0];
    struct subst s = {{.arena = &c->arena}};
    map_put(&s.map, PKEY(p->syms.v[0]), (void *)x_int(c, 3));
    const struct var *before = p->body.first->u.loop.var;
    subst_block(c, &p->body, &s);
    cr_assert_neq(p->body.first->u.loop.var, before, "the extent changed, so the variable must");
    char *t = printed(m);
    cr_assert(strstr(t, "  for i<3\n    for j<i+1\n      y[i] = x[j]\n") && !strstr(t, "if"), "%s", t);
    free(t);
}
Test(loop, loops_that_never_run_go) {
    struct module *m =
        parse("proc p(x: f32[4] in, y: f32[4] out) [N]\n  for i<N\n    for j<4\n      y[j] = 0.0\n  y[0] = x[0]\n");
    struct subst s = {{.arena = &c->arena}};
    map_put(&s.map, PKEY(m->procs.v[0]->syms.v[0]), (void *)x_int(c, 0));
    subst_block(c, &m->procs.v[0]->body, &s);
    reads(m, "proc p(x: f32[4] in, y: f32[4] out) [N]\n  y[0] = x[0]\n");
}
static expr load_to_zero(void *env, expr e) { return e->op == X_LOAD ? (++*(int *)env, x_const_f(c, F32, 0)) : NULL; }
static void count_load(void *env, const struct stmt *s, expr load) { (void)s, (void)load, ++*(int *)env; }
Test(loop, every_expression_is_rewritten) {
    struct module *m = parse(nest);
    struct block *b = &m->procs.v[0]->body;
    int loads = 0, seen = 0;
    each_load(b, count_load, &loads);
    cr_assert_eq(loads, 1);
    map_exprs(c, b, load_to_zero, &seen);
    each_load(b, count_load, &loads);
    cr_assert(seen == 1 && loads == 1);
}
Test(loop, clones_share_nothing_that_changes) {
    struct module *m = parse(nest);
    struct proc *p = m->procs.v[0];
    struct block twice = clone_block(c, &p->body);
    block_move(&p->body, &twice);
    cr_assert_null(twice.first);
    cr_assert_eq(p->body.last->in, &p->body);
    cr_assert_neq(p->body.first->u.loop.var, p->body.last->u.loop.var);
    cr_assert_eq(p->body.first->u.loop.var->name, p->body.last->u.loop.var->name);
    cr_assert(loop_verify(m, NULL), "each loop has a variable of its own: %s", complaints(c));
    struct subst s = {{.arena = &c->arena}};
    map_put(&s.map, PKEY(p->syms.v[0]), (void *)x_int(c, 3));
    struct block third = clone_block(c, &p->body);
    subst_block(c, &third, &s);
    char *t = printed(m);
    cr_assert(!strstr(t, "i<3"), "the original changed with its clone: %s", t);
    free(t);
}
Test(loop, a_cloned_procedure_reads_the_same) {
    struct module *m = parse("proc p(x: f32[N] in, y: f32[1,N] out logical [N] map [0,d0]) [N in 1..100]\n"
                             "  const k: f32[2] = {1.0, 2.0}\n"
                             "  alloc t: f32[N] arena pad [3] fill 0.0\n"
                             "  stage t[i<N] reduce + [j<2] init k[0] = x[i] * k[j]\n"
                             "  size s in 0..N = N\n"
                             "  for i<s\n"
                             "    y[0,i] = t[i]\n");
    char *before = printed(m);
    struct proc *p = m->procs.v[0], *q = clone_proc(c, p, "p");
    cr_assert_neq(p->params.v[0].buf, q->params.v[0].buf);
    m->procs.v[0] = q;
    reads(m, before);
    cr_assert(!stores_to(&q->body, p->params.v[1].buf) && stores_to(&q->body, q->params.v[1].buf));
    cr_assert(!stores_to(&q->body, q->params.v[0].buf));
    free(before);
}
Test(loop, cloned_stages_have_axes_of_their_own) {
    struct module *m = parse("proc p(x: f32[8,4] in, y: f32[8] out)\n  stage y[i<8] reduce + [k<4] = x[i,k]\n");
    struct block copy = clone_block(c, &m->procs.v[0]->body);
    block_move(&m->procs.v[0]->body, &copy);
    reads(m, "proc p(x: f32[8,4] in, y: f32[8] out)\n  stage y[i<8] reduce + [k<4] = x[i,k]\n  stage y[i<8] reduce + "
             "[k<4] = x[i,k]\n");
}
Test(loop, what_stores_to_a_buffer) {
    struct module *m = parse("proc q(a: f32[4] in, b: f32[4] out)\n  stage b[i<4] = a[i]\n\n"
                             "proc p(x: f32[4] in, y: f32[4] out, z: f32[4] out)\n  alloc t: f32[4] stack\n  alloc u: "
                             "f32[4] stack\n  call q(in x, out y)\n  swap t, u\n  if x[0] < 1.0\n    z[0] = 0.0\n");
    struct proc *q = m->procs.v[0], *p = m->procs.v[1];
    cr_expect(stores_to(&q->body, proc_buf(q, "b")) && !stores_to(&q->body, proc_buf(q, "a")));
    static const struct {
        const char *name;
        bool stored;
    } want[] = {{"x", false}, {"y", true}, {"z", true}, {"t", true}, {"u", true}};
    for (int k = 0; k < 5; k++)
        cr_expect_eq(stores_to(&p->body, proc_buf(p, want[k].name)), want[k].stored, "%s", want[k].name);
    cr_expect(stmt_stores_to(p->body.last, proc_buf(p, "z")) && !stmt_stores_to(p->body.last, proc_buf(p, "y")));
}
Test(loop, replacing_keeps_the_order) {
    struct module *m =
        parse("proc p(y: f32[8] out)\n  y[0] = 0.0\n  if y[0] < 1.0\n    y[1] = 1.0\n    y[2] = 2.0\n  y[3] = 3.0\n");
    struct stmt *s = m->procs.v[0]->body.first->next;
    stmt_replace(s, &s->u.cond.then);
    reads(m, "proc p(y: f32[8] out)\n  y[0] = 0.0\n  y[1] = 1.0\n  y[2] = 2.0\n  y[3] = 3.0\n");
    stmt_replace(m->procs.v[0]->body.first, &(struct block){0});
    stmt_replace(m->procs.v[0]->body.last, &(struct block){0});
    reads(m, "proc p(y: f32[8] out)\n  y[1] = 1.0\n  y[2] = 2.0\n");
}
Test(loop, pads_widen_the_pitch) {
    struct module *m = parse("proc p(y: f32[2,3,N] out pad [7,1,2]) [N]\n");
    struct buf *y = m->procs.v[0]->params.v[0].buf;
    expr n = y->dims[2];
    cr_assert_eq(buf_stride(c, y, 2), x_int(c, 1));
    cr_assert_eq(buf_stride(c, y, 1), x_addi(c, n, 2));
    cr_assert_eq(buf_stride(c, y, 0), x_addi(c, x_muli(c, n, 3), 7));
    cr_assert_eq(buf_cells(c, y), x_addi(c, x_muli(c, n, 6), 21));
    cr_assert_eq(buf_offset(c, y, (expr[]){x_int(c, 1), x_int(c, 2), x_int(c, 3)}), x_addi(c, x_muli(c, n, 5), 14));
}
/* As elements of a buffer can hold it, and no element is beyond it. */
Test(loop, identities_of_narrow_integers) {
    static const struct {
        enum dtype t;
        int64_t least, greatest;
    } of[] = {{I2, -2, 1},     {U2, 0, 3},   {I4, -8, 7},          {U4, 0, 15},
              {I8, -128, 127}, {U8, 0, 255}, {I16, -32768, 32767}, {U16, 0, 65535}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        enum dtype v = dtype_value(of[k].t);
        cr_expect_eq(red_identity(c, RED_MAX, of[k].t), x_const_i(c, v, of[k].least), "%s", dtype_name(of[k].t));
        cr_expect_eq(red_identity(c, RED_MIN, of[k].t), x_const_i(c, v, of[k].greatest), "%s", dtype_name(of[k].t));
    }
}
Test(loop, identities_of_reductions) {
    static const enum dtype types[] = {BOOL, I32, U32, I64, U64, F32, F64};
    for (int t = 0; t < 7; t++)
        for (int r = RED_SUM; r < RED_COUNT; r++) {
            expr id = red_identity(c, (enum red_op)r, types[t]);
            if (id->op == X_POISON) continue;
            for (int k = 0; k < 2; k++) {
                expr v = types[t] == BOOL ? x_bool(c, k) : x_num(c, types[t], k * 3);
                if (types[t] == BOOL && (r == RED_SUM || r == RED_PROD || r == RED_MAX || r == RED_MIN)) continue;
                cr_expect_eq(red_apply(c, (enum red_op)r, id, v), v, "%s of %s", red_op_name((enum red_op)r),
                             dtype_name(types[t]));
            }
        }
}

/* ---- the table of kinds */
Test(loop, every_kind_of_statement_has_a_row) {
    for (int k = 0; k < S_KIND_COUNT; k++) {
        const struct stmt_row *row = &stmt_rows[k];
        cr_assert(row->what, "kind %d", k);
        cr_assert(row->word || k == S_STORE || k == S_COMMENT, "%s", row->what);
        cr_assert(!row->word || !is_plain_name(row->word), "`%s` may be a name: see ir/expr/print.c", row->word);
    }
}
/* "x:rw y:w" and the like: what the first statement of that kind does to the buffers that it names. */
struct search {
    enum stmt_kind kind;
    struct stmt *found;
};
static bool find_kind(void *env, struct stmt *s) {
    struct search *q = env;
    if (!q->found && s->kind == q->kind) q->found = s;
    return true;
}
static void names(struct module *m, enum stmt_kind kind, const char *want) {
    struct search q = {kind, NULL};
    struct text t = {0};
    struct named_buf b;
    walk(&m->entry->body, find_kind, &q);
    cr_assert(q.found, "no statement of kind %d", kind);
    for (int k = 0; stmt_buf(q.found, k, &b); k++) {
        text_printf(&t, "%s%s:", k ? " " : "", b.buf->name);
        for (int bit = 0; bit < 5; bit++)
            if (b.use >> bit & 1) text_char(&t, "rwbem"[bit]);
    }
    cr_assert_str_eq(t.s, want);
    text_free(&t);
}
Test(loop, what_statements_do_to_the_buffers_they_name) {
    struct module *m = parse("proc k(a: f32[4] in, b: f32[4] out, c: f32[4] inout)\n  b[0] = a[0]\n  c[1] += a[1]\n"
                             "entry proc p(x: f32[4] in, y: f32[4] out)\n"
                             "  alloc s: f32[4] region\n  alloc t: f32[4] region\n"
                             "  view v: f32[2] arena of y+2\n"
                             "  call k(in x, out s, inout t)\n  swap s, t\n  y[0] += x[1]\n"
                             "  stage y[i<4] reduce + [j<4] = x[j]\n  prefetch x+1\n  free s\n");
    names(m, S_ALLOC, "s:b");
    names(m, S_VIEW, "v:b y:");
    names(m, S_CALL, "x:r s:w t:rw");
    names(m, S_SWAP, "s:rwm t:rwm");
    names(m, S_STORE, "y:rw");
    names(m, S_STAGE, "y:w");
    names(m, S_PREFETCH, "x:");
    names(m, S_FREE, "s:e");
}
