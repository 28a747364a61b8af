/* The interpreter's compiler, expressions: from expression nodes to register code. Nodes that occur several times in a
 * statement are computed once where that is unconditional; select and loads with fill jump around the arm not taken. */
#include "ir/base/checked.h"
#include "ir/eval/comp.h"
#include "ir/expr/native.h"
#include <math.h>
#include <string.h>

/* ---- memo: chained hash whose entries are released newest first */
static int memo_head(expr e) { return (int)((e->id * 2654435761u) >> 24) & (MEMO_HEADS - 1); }

static int memo_get(struct comp *c, expr e) {
    for (int k = c->heads[memo_head(e)]; k >= 0; k = c->memo.v[k].next)
        if (c->memo.v[k].e == e && c->memo.v[k].fn == c->fn) return c->memo.v[k].reg;
    return -1;
}

static void memo_put(struct comp *c, expr e, int reg) {
    int h = memo_head(e);
    struct memo m = {e, reg, c->heads[h], c->fn};
    PUSH(c->arena, &c->memo, m);
    c->heads[h] = c->memo.n - 1;
}

int memo_mark(struct comp *c) { return c->memo.n; }

void memo_release(struct comp *c, int mark) {
    while (c->memo.n > mark) {
        struct memo *m = &c->memo.v[--c->memo.n];
        c->heads[memo_head(m->e)] = m->next;
    }
}

/* ---- types and codes */
int typed_op(struct comp *c, enum xop op, enum dtype t) {
    if (t == BOOL) t = I32;
    if (t == IDX) {
        if (op == X_DIV) return V_FDIV;
        if (op == X_MOD) return V_FMOD;
        t = I64;
    }
    int ni = t == I32 ? 0 : t == U32 ? 1 : t == I64 ? 2 : t == U64 ? 3 : -1;
    int nf = t == F32 ? 0 : t == F64 ? 1 : -1;
    int num = ni >= 0 ? ni : nf >= 0 ? 4 + nf : -1;
    if (num < 0) comp_fail(c, "operation %s on type %s", xop_name(op), dtype_name(t));
    switch (op) {
// clang-format off
#define N(o) case X_##o: return V_##o##_I32 + num;
    N(ADD) N(SUB) N(MUL) N(DIV) N(MOD) N(FMA) N(MIN) N(MAX) N(NEG) N(ABS) N(LT) N(LE) N(EQ) N(NE)
#undef N
#define F(o) case X_##o: if (nf >= 0) return V_##o##_F32 + nf; break;
    F(SQRT) F(FLOOR) F(CEIL) F(TRUNC) F(RINT)
#undef F
#define I(o) case X_##o: if (ni >= 0) return V_##o##_I32 + ni; break;
    I(AND) I(OR) I(XOR) I(NOT) I(SHL) I(SHR)
#undef I
            // clang-format on
            default : break;
    }
    comp_fail(c, "operation %s on type %s", xop_name(op), dtype_name(t));
}

/* ---- where a value can be computed */
static int level_walk(struct comp *c, expr e, bool *pure, int *budget) {
    if (--*budget < 0) {
        *pure = false;
        return c->cur;
    }
    switch (e->op) {
    case X_CONST: return 0;
    case X_VAR:
        for (int k = c->cur; k > 0; k--)
            if (c->levels[k].is_for && c->levels[k].var == e->u.var) return k;
        if (is_unit(c, e->u.var)) return 0;
        comp_fail(c, "variable %s_%d is not in scope", e->u.var->name, e->u.var->id);
    case X_SYM: return sym_level(c, e->u.sym);
    case X_LOAD:
    case X_GUARD:
    case X_ARG:
    case X_CALL:
    case X_POISON: *pure = false; return c->cur;
    default: {
        int most = 0;
        for (int k = 0; k < e->n; k++) {
            int l = level_walk(c, e->arg[k], pure, budget);
            most = l > most ? l : most;
        }
        return most;
    }
    }
}

int level_of(struct comp *c, expr e, bool *pure) {
    int budget = 200;
    *pure = true;
    int l = level_walk(c, e, pure, &budget);
    return *pure ? l : c->cur;
}

/* ---- nodes */
static union reg const_value(struct comp *c, expr e) {
    union reg v = {.l = 0};
    switch (e->type) {
    case F32: v.f = (float)e->u.f; break;
    case F64: v.d = e->u.f; break;
    case BOOL: v.i = e->u.i != 0; break;
    case I32:
    case U32: v.u = (uint32_t)e->u.i; break;
    case I64:
    case U64:
    case IDX: v.l = e->u.i; break;
    default: comp_fail(c, "constant of type %s", dtype_name(e->type));
    }
    return v;
}

/* No loads that might be out of range, no guards: both arms of a select may be computed. Loads computed before in
 * this statement count as free. The budget keeps rarely taken long arms lazy. */
static bool is_speculable(struct comp *c, expr e, int *budget) {
    if (--*budget < 0) return false;
    if (e->op == X_CONST || memo_get(c, e) >= 0) return true;
    if (e->op == X_LOAD || e->op == X_GUARD || e->op == X_CALL || e->op == X_POISON || is_wide(e->type)) return false;
    for (int k = 0; k < e->n; k++)
        if (!is_speculable(c, e->arg[k], budget)) return false;
    return true;
}

uint16_t reg_width(enum dtype value) { return value == I32 || value == U32 || value == F32 || value == BOOL ? 4 : 8; }

static void move(struct comp *c, enum dtype t, int dst, int src) {
    emit(c, (struct ins){.op = is_wide(t) ? V_MOV2 : V_MOV, .x = reg_width(t), .a = dst, .b = src});
}

static int select_reg(struct comp *c, expr e) {
    int cond = expr_reg(c, e->arg[0]);
    int budget = 60;
    if (!is_wide(e->type) && is_speculable(c, e->arg[1], &budget) && is_speculable(c, e->arg[2], &budget)) {
        int a = expr_reg(c, e->arg[1]), b = expr_reg(c, e->arg[2]), dst = new_reg(c);
        emit(c, (struct ins){.op = V_SEL, .x = reg_width(e->type), .a = dst, .b = cond, .c = a, .d = b});
        return dst;
    }
    int dst = new_reg(c);
    if (is_wide(e->type)) new_reg(c);
    int jz = emit(c, (struct ins){.op = V_JZ, .a = cond});
    int mark = memo_mark(c);
    c->cond++;
    move(c, e->type, dst, expr_reg(c, e->arg[1]));
    memo_release(c, mark);
    int jmp = emit(c, (struct ins){.op = V_JMP});
    patch(c, jz);
    move(c, e->type, dst, expr_reg(c, e->arg[2]));
    memo_release(c, mark);
    c->cond--;
    patch(c, jmp);
    return dst;
}

static int load_reg(struct comp *c, expr e) {
    int slot = slot_for(c, e->u.buf), n = e->n - e->has_fill;
    if (n != e->u.buf->nd) comp_fail(c, "load of %s with %d indices, it has %d dims", e->u.buf->name, n, e->u.buf->nd);
    bool wide = is_wide(e->type);
    uint64_t tests = e->has_fill ? unproved_dims(c, slot, e->arg, n) : 0;
    int dst = new_reg(c);
    if (wide) new_reg(c);
    if (!e->has_fill || !tests) {
        emit_load(c, access_to(c, slot, e->arg, n, 0), dst);
        return dst;
    }
    /* Const fills are put first and overwritten; others are computed only when needed. */
    expr fill = e->arg[n];
    bool simple = fill->op == X_CONST;
    if (simple) move(c, e->type, dst, expr_reg(c, fill));
    /* after the load, nothing is known that the first test may have jumped over */
    int jumps[64], nj = 0, mark = 0;
    for (int d = 0; d < n; d++) {
        if (!(tests >> d & 1)) continue;
        jumps[nj] = emit(c, (struct ins){.op = V_JOUT, .a = expr_reg(c, e->arg[d]), .b = dim_reg(c, slot, d)});
        if (!nj++) mark = memo_mark(c), c->cond++;
    }
    emit_load(c, access_to(c, slot, e->arg, n, ~(uint64_t)0), dst);
    memo_release(c, mark);
    int end = simple ? -1 : emit(c, (struct ins){.op = V_JMP});
    for (int k = 0; k < nj; k++) patch(c, jumps[k]);
    if (!simple) {
        move(c, e->type, dst, expr_reg(c, fill));
        memo_release(c, mark);
        patch(c, end);
    }
    c->cond--;
    return dst;
}

static int native_reg(struct comp *c, expr e, const struct native *n) {
    int *args = NEWN(c->arena, int, e->n);
    for (int k = 0; k < e->n; k++) args[k] = expr_reg(c, e->arg[k]);
    PUSH(c->arena, &c->u->lists, args);
    struct ins i = {.op = V_NATIVE, .x = (uint16_t)e->n, .c = c->u->lists.n - 1, .imm = (intptr_t)n};
    i.a = new_reg(c);
    if (is_wide(e->type)) new_reg(c);
    emit(c, i);
    return i.a;
}

static int text_reg(struct comp *c, expr e) {
    expr load = e->arg[0];
    int n = expr_reg(c, e->arg[1]), dst = new_reg(c), length = new_reg(c), slot = slot_for(c, load->u.buf);
    emit(c, (struct ins){.op = V_MOV, .x = 8, .a = length, .b = n});
    struct access a = access_to(c, slot, load->arg, load->n, 0);
    emit(c, (struct ins){.op = V_TEXT, .a = dst, .b = a.slot, .c = a.base, .d = a.var, .imm = a.coef});
    return dst;
}

static int call_reg(struct comp *c, expr e) {
    const struct fn *f = e->u.fn;
    const struct native *native = native_of(f);
    if (native) return native_reg(c, e, native);
    if (!f->body || e->n != f->nargs || e->n > 4)
        comp_fail(c, "function %s is called with %d arguments, it takes %d", f->name, e->n, f->nargs);
    if (c->fn_depth >= MAX_FN_DEPTH) comp_fail(c, "functions nest too deeply at %s", f->name);
    int args[4], fn = c->fn;
    const int *outer = c->fn_args;
    for (int k = 0; k < e->n; k++) args[k] = expr_reg(c, e->arg[k]);
    c->fn = ++c->fn_count;
    c->fn_args = args;
    c->fn_depth++;
    int r = expr_reg(c, f->body);
    c->fn_depth--;
    c->fn_args = outer;
    c->fn = fn;
    return r;
}

static int cast_code(struct comp *c, enum dtype t) {
    switch (t) {
    case BOOL:
    case I32:
    case U32:
    case I64:
    case U64:
    case F32:
    case F64: return (int)t;
    case IDX: return (int)I64;
    default: comp_fail(c, "cast of type %s", dtype_name(t));
    }
}

static int string_compare(struct comp *c, expr e) {
    int a = expr_reg(c, e->arg[0]), b = expr_reg(c, e->arg[1]), order = new_reg(c), dst = new_reg(c);
    emit(c, (struct ins){.op = V_CMPSTR, .a = order, .b = a, .c = b});
    emit(c, (struct ins){.op = (uint16_t)typed_op(c, e->op, I32), .a = dst, .b = order, .c = int_reg(c, 0)});
    return dst;
}

static int bitcast_reg(struct comp *c, expr e) {
    enum dtype from = e->arg[0]->type;
    bool narrow_from = from == I32 || from == U32 || from == F32,
         narrow_to =
             e->type == I32 || e->type == U32 || e->type == F32; /* all other types have 64 bits, including c64 */
    if (narrow_from != narrow_to || is_wide(from))
        comp_fail(c, "bitcast from %s to %s", dtype_name(from), dtype_name(e->type));
    return expr_reg(c, e->arg[0]);
}

/* An operation on numbers of one type. */
static struct ins arithmetic(struct comp *c, expr e) {
    enum xop_class k = xop_class(e->op);
    if (k != XC_UNARY && k != XC_BINARY && k != XC_COMPARE && e->op != X_FMA)
        comp_fail(c, "%s expression", xop_name(e->op));
    struct ins i = {.b = expr_reg(c, e->arg[0])};
    if (e->n > 1) i.c = expr_reg(c, e->arg[1]);
    if (e->n > 2) i.d = expr_reg(c, e->arg[2]);
    i.op = (uint16_t)typed_op(c, e->op, e->arg[0]->type);
    return i;
}

int expr_here(struct comp *c, expr e) {
    enum dtype operand = e->n ? e->arg[0]->type : NONE;
    struct ins i = {0};
    switch (e->op) {
    case X_CONST: return e->type == STR ? empty_string_reg(c) : const_reg(c, const_value(c, e));
    case X_VAR:
    case X_SYM:
    case X_LIN: return index_reg(c, e);
    case X_ARG:
        if (!c->fn_args || e->u.i < 0 || e->u.i > 3) comp_fail(c, "argument outside of a function");
        return c->fn_args[e->u.i];
    case X_LOAD: return load_reg(c, e);
    case X_SELECT: return select_reg(c, e);
    case X_CALL: return call_reg(c, e);
    case X_TEXT: return text_reg(c, e);
    case X_BITCAST: return bitcast_reg(c, e);
    case X_IDXVAL: return expr_reg(c, e->arg[0]);
    case X_TOIDX: /* values of 32 bits are sign- or zero-extended */
        if (operand == I64 || operand == U64 || operand == IDX) return expr_reg(c, e->arg[0]);
        i = (struct ins){.op = V_CAST, .x = (uint16_t)(cast_code(c, operand) * 64 + I64), .b = expr_reg(c, e->arg[0])};
        break;
    case X_CAST:
        if (cast_code(c, operand) == cast_code(c, e->type)) return expr_reg(c, e->arg[0]);
        i = (struct ins){.op = V_CAST,
                         .x = (uint16_t)(cast_code(c, operand) * 64 + cast_code(c, e->type)),
                         .b = expr_reg(c, e->arg[0])};
        break;
    case X_GUARD: {
        int v = expr_reg(c, e->arg[0]), n = expr_reg(c, e->arg[1]);
        i = (struct ins){.op = V_GUARD, .b = v, .c = n, .imm = site(c, NULL, 0)};
        break;
    }
    case X_ROUND:
        i = (struct ins){.op = V_ROUND, .x = (uint16_t)e->u.i, .b = expr_reg(c, e->arg[0]), .imm = e->type};
        break;
    case X_NOT:
        i = (struct ins){.op = operand == BOOL ? V_NOTB : (uint16_t)typed_op(c, e->op, operand),
                         .b = expr_reg(c, e->arg[0])};
        break;
    case X_PROD:
        i.op = V_MUL_I64;
        i.b = expr_reg(c, e->arg[0]);
        i.c = expr_reg(c, e->arg[1]);
        break;
    case X_FLOOR:
    case X_CEIL:
    case X_TRUNC:
    case X_RINT:
        if (dtype_is_int(operand)) return expr_reg(c, e->arg[0]);
        i = arithmetic(c, e);
        break;
    default:
        if (xop_class(e->op) == XC_COMPARE && operand == STR) return string_compare(c, e);
        i = arithmetic(c, e);
        break;
    }
    i.a = new_reg(c);
    emit(c, i);
    return i.a;
}

static bool is_index_like(expr e) {
    return e->type == IDX || e->op == X_IDXVAL || (e->type == BOOL && e->n == 2 && e->arg[0]->type == IDX);
}

int expr_reg(struct comp *c, expr e) {
    if (e->op == X_CONST && e->type != STR) return const_reg(c, const_value(c, e));
    if (e->op == X_ARG) return expr_here(c, e);
    int r = memo_get(c, e);
    if (r >= 0) return r;
    if (++c->depth > MAX_EXPR_DEPTH) comp_fail(c, "an expression nests deeper than %d", MAX_EXPR_DEPTH);
    r = is_index_like(e) ? index_reg(c, e) : expr_here(c, e);
    c->depth--;
    memo_put(c, e, r);
    return r;
}
