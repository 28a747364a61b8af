/* Running sums and products along an axis that is not the last one. Column by column, each addition waits for the one
 * before, and cells lie far apart. With the columns side by side, a vector of them goes down the axis at once, and
 * whole cache lines are read. The additions and their order are the same, so the bits are, too. The row replaces the
 * call by another kernel text, so it goes beside other algorithms. */
#include "lower/algorithm/rows.h"
#include <math.h>

/* Sizes of the text: before, along and after the axis. */
enum { A, D, B };
/* Cycles: latency from one sum to the next; for a vector of them; and extra for the remainder of a line that fills no
 * vector. */
enum { CELL = 4, VECTOR = 4, TURN = 16 };

static double typical(const struct algorithm_query *q, const struct stmt *call, int k) {
    return (double)x_typical(q->c, call->u.call.args[k], OPEN_SIZE);
}
/* Cycles of the text without lanes, of which the other one saves a part. If the run decides which axis it is, there may
 * be just one column. */
static double columns_one_by_one(const struct algorithm_query *q, const struct stmt *call) {
    return CELL * typical(q, call, A) * typical(q, call, D) * typical(q, call, B);
}
static double saved_by_rows(const struct algorithm_query *q, const struct stmt *call) {
    int lanes = machine_lanes(q->m, call->u.call.bufs[0]->type);
    double lines = typical(q, call, A) * typical(q, call, D), vectors = ceil(typical(q, call, B) / lanes);
    if (lanes < 2 || x_has(call->u.call.args[B], XF_PRODUCED)) return 0;
    return columns_one_by_one(q, call) - lines * (TURN + VECTOR * vectors);
}
struct algorithm_saving running_rows_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                            bool rewrites) {
    (void)row;
    static const char *const texts[][2] = {{"cumsum", "cumsum_rows"}, {"cumprod", "cumprod_rows"}};
    struct algorithm_saving saved = {0};
    for (struct stmt *s = q->m->gpu ? NULL : q->stmts->first; s; s = s->next)
        for (int k = 0; k < 2; k++) {
            if (!calls_text(q, s, texts[k][0])) continue;
            double cycles = saved_by_rows(q, s);
            if (!asked && cycles < 0.1 * columns_one_by_one(q, s)) continue;
            if (rewrites) s->u.call.callee = algorithm_text(q, s, texts[k][1]);
            saved.places++, saved.cycles += cycles;
            break;
        }
    return saved;
}
