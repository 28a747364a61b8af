/* Did you mean: see nearest.h. */
#include "ir/base/nearest.h"
#include "ir/base/text.h"
#include <string.h>

/* Letters to replace, add or leave out (Levenshtein). */
static int distance(const char *a, const char *b) {
    enum { MAX = 40 };
    int row[MAX + 1], n = (int)strlen(a), m = (int)strlen(b);
    if (n > MAX || m > MAX) return MAX;
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int replace = diagonal + (a[i - 1] != b[j - 1]), least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replace < least ? replace : least;
        }
    }
    return row[m];
}

const char *nearest_name(const char *word, const char *const *names, int n) {
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2; /* a third of the letters may be wrong */
    for (int i = 0; i < n; i++) {
        int d = distance(word, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

const char *did_you_mean(struct arena *a, const char *word, const char *const *names, int n) {
    const char *near = nearest_name(word, names, n);
    return near ? arena_printf(a, "; did you mean `%s`?", near) : "";
}
