/* The memory map of programs for bare machines: which memory holds weights and heap. See project.h. */
#include "codegen/project.h"
#include "codegen/weights.h"

enum { CODE_BYTES = 256 << 10, STACK_BYTES = 64 << 10 }; /* reserved for code, and for the stack */

static const char *hex(struct program *p, uint32_t v) { return format(p->c, "0x%08lx", (unsigned long)v); }

/* Bytes of inputs and outputs, which the sample programs place beside the arena. */
static int64_t io_bytes(struct program *p) {
    int64_t sum = 0, n;
    for (int k = 0; k < p->ins.n + p->outs.n; k++) {
        const struct buf *b = k < p->ins.n ? p->ins.v[k].buf : p->outs.v[k - p->ins.n].buf;
        if (x_is_int(buf_elements(p->c, b), &n))
            sum += 2 * n * dtype_bytes(b->type); /* once as a file, once as
                                                  * elements */
    }
    return sum;
}
/* Which memory holds what. */
struct memory_map {
    bool far_weights, near_heap;
    int64_t weights, heap; /* bytes */
};
static struct memory_map memory_map_of(struct program *p) {
    const struct board *b = p->o->target->board;
    struct memory_map m = {.weights = program_weights_file(p) ? 0 : p->weights_bytes};
    m.heap = (p->is_static ? p->arena_bytes : 2 * p->plan->peak) + io_bytes(p) + p->weights_bytes - m.weights;
    m.far_weights = m.weights + CODE_BYTES > b->flash_bytes;
    m.near_heap = p->is_static && m.heap + 2 * STACK_BYTES < b->ram_bytes;
    return m;
}
bool bare_fits(struct program *p, enum severity severity) {
    const struct board *b = p->o->target->board;
    if (!b) return true;
    struct memory_map m = memory_map_of(p);
    int64_t more = (m.far_weights ? m.weights : 0) + (m.near_heap ? 0 : m.heap);
    if (more <= b->more_bytes) return true;
    diag(&p->c->diags, severity, E_BUDGET,
         "too large for %s: %lld bytes of weights and %lld of arena, inputs and outputs; it has %lld of flash, %lld of "
         "RAM and %lld outside of the chip",
         b->name, (long long)p->weights_bytes, (long long)(m.heap - p->weights_bytes + m.weights),
         (long long)b->flash_bytes, (long long)b->ram_bytes, (long long)b->more_bytes);
    diag_help(&p->c->diags, "use a smaller or a quantized model, smaller sizes (--dim) or a larger board%s",
              severity == DIAG_WARNING ? "; --budget=flash=SIZE,arena=SIZE makes limits of what yours has" : "");
    return false;
}
const char *const *bare_values(struct program *p) {
    const struct board *b = p->o->target->board;
    struct memory_map m = memory_map_of(p);
    const char *const pairs[] = {
        "BOARD",
        b->name,
        "TARGET",
        p->o->target->name,
        "VECTORS",
        hex(p, b->vectors),
        "FLASH",
        hex(p, b->flash),
        "FLASH_BYTES",
        hex(p, b->flash_bytes),
        "RAM",
        hex(p, b->ram),
        "RAM_BYTES",
        hex(p, b->ram_bytes),
        "MORE",
        hex(p, b->more),
        "MORE_BYTES",
        hex(p, b->more_bytes),
        "WEIGHTS_IN",
        m.far_weights ? "MORE" : "FLASH",
        "WEIGHTS_WHY",
        m.far_weights ? "The weights are larger than its flash memory." : "",
        "HEAP_START",
        m.near_heap ? "ALIGN(board_bss_end, 64)" : "board_more_start",
        "HEAP_END",
        m.near_heap ? format(p->c, "board_stack_top - 0x%x", STACK_BYTES) : "ORIGIN(MORE) + LENGTH(MORE)",
        NULL};
    return arena_copy(&p->c->arena, pairs, sizeof pairs);
}
