/* Memory of a kernel's local buffers: registers, arrays on the stack, shared memory, or scratch memory from the caller;
 * how much scratch that is, and the declarations. */
#include "codegen/c_int.h"
#include "ir/base/checked.h"
#include <string.h>

/* ---- declarations */
void c_print_alloc(struct fe *f, struct buf *b, const struct block *home) {
    if (!proc_uses(f->p, b)) return;
    if (c_regs(f, b)) {
        c_declare_registers(f, b, c_regs(f, b), home);
        return;
    }
    const char *type = dtype_c(b->type);
    struct sym_name *n = c_declare(f, b->name, format(f->c, "%s *", type));
    n->buf = b;
    map_put(&f->bufs, PKEY(b), n);
    c_add_ptr(f, b, n, 0, NULL, NULL);
    if (f->threads && b->scope == SC_SHARED) {
        c_line(f, "NN_SHARED(%s, %s, %s);", type, n->name, c_text(f, buf_own_cells(f->c, b), true));
    } else if (is_on_stack(f->c, b)) {
        int64_t bytes = 0;
        x_is_int(local_bytes(f->c, b), &bytes);
        int64_t cells = bytes / dtype_bytes(b->type);
        c_line(f, "%s %s[%lld]%s;", type, n->name, (long long)(cells > 0 ? cells : 1),
               emit_gnu(f->o) ? " __attribute__((aligned(64)))" : "");
    } else {
        const char *at = c_text(f, f->ws_top, true), *ws = c_ref(f, f->ws);
        const char *p = x_is(f->ws_top, 0) ? ws
                                           : format(f->c, "(void *)((unsigned char *)%s + %s)", ws,
                                                    strpbrk(at, "+-?") ? format(f->c, "(%s)", at) : at);
        c_line(f, "%s *%s %s = (%s *)%s;", type, emit_words(f->o)->restricted, n->name, type, p);
        f->ws_top = x_add(f->c, f->ws_top, scratch_round(f->c, local_bytes(f->c, b)));
    }
    if (b->fill) {
        const char *i = names_add(&f->names, "i");
        c_line(f, "for (%s %s = 0; %s < %s; %s++)", f->idx, i, i, c_bound(f, buf_own_cells(f->c, b)), i);
        struct piece v = c_storage(f, b, c_fill_value(f, b, 1));
        c_line(f, "    %s[%s] = %s;", n->name, i, v.s);
    }
}
