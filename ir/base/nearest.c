/* Did you mean: see nearest.h. */
#include "ir/base/nearest.h"
#include "ir/base/text.h"
#include <stdbool.h>
#include <string.h>

/* Number of letters to replace, add, leave out, or exchange with their neighbours (Damerau and Levenshtein; each letter
 * at most once). */
static int distance(const char *a, const char *b) {
    enum { MAX = 40 };
    int rows[3][MAX + 1], n = (int)strlen(a), m = (int)strlen(b);
    if (n > MAX || m > MAX) return MAX;
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int d = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < d) d = last[j] + 1;
            if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < d) d = before[j - 2] + 1;
            now[j] = d;
        }
    }
    return rows[n % 3][m];
}
/* One is the beginning of the other. */
static bool begins(const char *word, const char *name) {
    size_t n = strlen(word), m = strlen(name), shorter = n < m ? n : m;
    return shorter >= 3 && !strncmp(word, name, shorter);
}
const char *nearest_name(const char *word, const char *const *names, int n) {
    const char *best = NULL;
    int letters = (int)strlen(word), least = letters / 3 + (letters < 3 ? 2 : 1); /* a third of the letters may be
                                                                                   * wrong */
    for (int i = 0; i < n; i++) {
        int d = distance(word, names[i]);
        if (d < least || (d == least && best && *best != *word && *names[i] == *word)) least = d, best = names[i];
    }
    for (int i = 0; i < n && !best; i++)
        if (begins(word, names[i])) best = names[i];
    return best;
}

const char *did_you_mean(struct arena *a, const char *word, const char *const *names, int n) {
    const char *near = nearest_name(word, names, n);
    return near ? arena_printf(a, "; did you mean `%s`?", near) : "";
}
