/* Graph IR: edit functions keep use lists, inlining moves nodes, sorting finds cycles. */
#include <criterion/criterion.h>
#include <string.h>
#include "ir/graph.h"
#include "ir/op.h"

static struct ctx *c;
static struct graph *g;
static struct value *x;
static void setup(void)
{
    c = ctx_new();
    g = graph_new(c, "test");
    expr n = x_sym(c, graph_sym(g, "N", 1, 64));
    x = region_param(g->top, "x", type_tensor(c, F32, &n, 1));
}
static void teardown(void) { ctx_free(c); }
TestSuite(graph, .init = setup, .fini = teardown);

static struct node *unary(struct region *r, const char *op, struct value *in) { return node_new(r, NULL, "", op, &in, 1, 1); }

Test(graph, edits_keep_use_lists)
{
    struct value *xx[] = {x, NULL, x};
    struct node *a = node_new(g->top, NULL, "", "A", xx, 3, 1), *b = unary(g->top, "B", a->outs.v[0]);
    region_result(g->top, b->outs.v[0]);
    cr_assert_eq(x->uses.n, 2);
    node_set_input(a, 2, b->outs.v[0]);
    cr_assert_eq(x->uses.n, 1);
    cr_assert_eq(b->outs.v[0]->uses.n, 2);
    value_replace(b->outs.v[0], x);
    cr_assert_eq(g->top->results.v[0], x);
    cr_assert_eq(x->uses.n, 3);
    node_remove(b);
    cr_assert_eq(a->outs.v[0]->uses.n, 0);
    node_set_input(a, 4, x);
    cr_assert_eq(a->ins.n, 5);
    cr_assert_null(a->ins.v[3]);
    node_remove(a);
    cr_assert_null(g->top->first);
    cr_assert_eq(x->uses.n, 1, "only the result is left");
}

Test(graph, symbols_are_one_by_name)
{
    cr_assert_eq(graph_sym(g, "N", 0, 5), graph_sym(g, "N", 0, 5));
    cr_assert_eq(graph_sym(g, "N", 0, 5)->hi, 64, "the first use gives the range");
    cr_assert_neq(graph_sym(g, "M", 0, 5), graph_sym(g, "N", 0, 5));
    cr_assert_eq(g->syms.n, 2);
}

Test(graph, small_integer_constants_are_known_by_element)
{
    struct tensor *t = tensor_new(&c->arena, I64, (int64_t[]){2}, 1);
    tensor_set_i(t, 0, 7);
    tensor_set_i(t, 1, -1);
    struct value *v = graph_const(g, "shape", t);
    cr_assert_eq(v->nelems, 2);
    cr_assert_eq(v->elems[0], x_const_i(c, I64, 7));
    cr_assert_eq(v->elems[1], x_const_i(c, I64, -1));
    cr_assert_null(graph_const(g, "w", tensor_new(&c->arena, F32, (int64_t[]){2}, 1))->elems);
}

Test(graph, attributes_are_set_replaced_and_dropped)
{
    struct node *n = unary(g->top, "A", x);
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 1});
    node_set_attr(n, (struct attr){.name = "alpha", .kind = AT_FLOAT, .u.f = 0.5f});
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 2});
    cr_assert_eq(n->attrs.n, 2);
    cr_assert_eq(node_attr(n, "axis")->u.i, 2);
    node_drop_attr(n, "axis");
    cr_assert_null(node_attr(n, "axis"));
    cr_assert_not_null(node_attr(n, "alpha"));
}

Test(graph, inlining_moves_nodes_and_maps_parameters_and_results)
{
    struct node *owner = unary(g->top, "If", x), *after = unary(g->top, "C", owner->outs.v[0]);
    struct region *body = region_new(g, owner, "body");
    node_set_attr(owner, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    struct value *p = region_param(body, "p", x->type);
    struct node *in = unary(body, "B", p);
    region_result(body, in->outs.v[0]);
    region_result(body, p);
    struct value *args[] = {x}, *results[2];
    region_inline(body, owner, args, results);
    cr_assert_eq(results[0], in->outs.v[0]);
    cr_assert_eq(results[1], x);
    cr_assert_eq(in->ins.v[0], x);
    cr_assert_eq(in->in, g->top);
    cr_assert_eq(in->next, owner);
    value_replace(owner->outs.v[0], results[0]);
    node_remove(owner);
    cr_assert_eq(g->top->first, in);
    cr_assert_eq(in->next, after);
    cr_assert_eq(x->uses.n, 1);
}

static void count(void *env, struct node *n) { (void)n; ++*(int *)env; }
Test(graph, removing_an_owner_removes_the_uses_of_its_bodies)
{
    struct value *k = graph_const(g, "k", tensor_new(&c->arena, F32, NULL, 0));
    struct node *owner = unary(g->top, "If", x);
    struct region *body = region_new(g, owner, "body");
    node_set_attr(owner, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    region_result(body, unary(body, "C", unary(body, "B", k)->outs.v[0])->outs.v[0]);
    int nodes = 0;
    each_node(g->top, count, &nodes);
    cr_assert_eq(nodes, 3);
    node_remove(owner);
    cr_assert_eq(k->uses.n, 0);
    cr_assert_eq(x->uses.n, 0);
}

Test(graph, sorting_is_stable_and_finds_cycles)
{
    struct node *a = unary(g->top, "A", x), *b = unary(g->top, "B", x), *d = unary(g->top, "D", x);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == a && a->next == b && b->next == d);
    node_set_input(a, 0, d->outs.v[0]);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == d && d->next == a && a->next == b && g->top->last == b);
    node_set_input(d, 0, a->outs.v[0]);
    cr_assert_not(graph_sort(g));
    cr_assert_eq(c->diags.v[0].code, E_GRAPH);
}

Test(graph, a_long_chain_in_reverse_is_sorted)
{
    enum { N = 20000 };
    struct node *n[N];
    for (int i = 0; i < N; i++)
        n[i] = unary(g->top, "A", x);
    for (int i = 0; i + 1 < N; i++)
        node_set_input(n[i], 0, n[i + 1]->outs.v[0]);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == n[N - 1] && g->top->last == n[0]);
}

static void nothing(void) {}
static const struct op fam_a[] = {{.domain = "", .name = "Zeta", .since = 1, .first = 1, .define = nothing},
                                  {.domain = "", .name = "Alpha", .since = 1, .first = 1, .define = nothing}, {.name = NULL}};
static const struct op fam_b[] = {{.domain = "com.microsoft", .name = "Alpha", .since = 1, .first = 1, .expand = nothing}, {.name = NULL}};
Test(graph, rows_are_found_and_sorted)
{
    cr_assert_null(op_find("", "Alpha"));
    op_register(fam_b);
    op_register(fam_a);
    cr_assert_eq(op_count(), 3);
    cr_assert_eq(op_find("", "Alpha"), &fam_a[1]);
    cr_assert_eq(op_find("com.microsoft", "Alpha"), &fam_b[0]);
    cr_assert_null(op_find("x", "Alpha"));
    cr_assert(op_at(0) == &fam_a[1] && op_at(1) == &fam_a[0] && op_at(2) == &fam_b[0]);
    cr_assert_eq(unary(g->top, "Zeta", x)->op, &fam_a[0]);
}
