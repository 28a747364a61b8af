/* The table of algorithms; see algorithm.h. */
#include "lower/algorithm/algorithm.h"

static const struct algorithm *const rows[] = {&algorithm_integer_sums, NULL};

bool algorithms_apply(const struct site *at, struct block *stages, struct text *choices) {
    for (const struct algorithm *const *a = rows; *a; a++) {
        enum rewriting r = (*a)->rewrite(at, stages);
        if (r == REWRITE_FAILED) return false;
        if (r == REWRITE_DONE && choices) text_printf(choices, "algorithm %s: %s\n", (*a)->name, (*a)->doc);
    }
    return true;
}
