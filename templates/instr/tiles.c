/* A product of matrices by tiles, registers of 16 rows of 64 bytes: rows and vectors of sums, groups of 4 bytes that
 * are multiplied at a time, the bytes from one row or vector to the next, and the steps of the sum in up to three
 * loops. */
struct nn_product {
    ptrdiff_t rows, vectors, groups, c_row, c_vector, a_row, b_vector, n[3], a[3], b[3];
};
/* The rows that tiles are configured for: 0, 1 and 4 the upper ones, 2, 3 and 5 the lower ones; 6 and 7 hold vectors.
 */
struct nn_tiles {
    int upper, lower, groups;
};
static inline void nn_tile_rows(struct nn_tiles *t, int upper, int lower, int groups) {
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {0}};
    if (t->upper == upper && t->lower == lower && t->groups == groups) return;
    for (int k = 0; k < 8; k++) config.rows[k] = (uint8_t)(k > 5 ? groups : k == 2 || k == 3 || k == 5 ? lower : upper);
    config.bytes[4] = config.bytes[5] = (uint16_t)(4 * groups);
    t->upper = upper, t->lower = lower, t->groups = groups;
    _tile_loadconfig(&config);
}
static inline void nn_tiles_release(const struct nn_tiles *t) {
    if (t->upper) _tile_release();
}
