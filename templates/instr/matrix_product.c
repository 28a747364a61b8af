/* Up to 8 rows by one vector or two: the sums stay in registers until all steps are done. Of an odd number of rows the
 * last one is its own neighbour. pairs and vectors are constants. */
static inline __attribute__((always_inline)) void nn_INSTR_tile(char *c, const char *a, const char *b, int rows,
                                                                const int pairs, const int vectors,
                                                                const struct nn_product *p) {
    const ptrdiff_t c_last = rows % 2 ? 0 : p->c_row, a_last = rows % 2 ? 0 : p->a_row;
    int32x4_t sums[4][4];
    NN_WRITTEN_OUT
    for (int r = 0; r < pairs; r++) NN_WRITTEN_OUT
    for (int v = 0; v < vectors; v++) {
        const char *at = c + 2 * r * p->c_row + v * p->c_vector;
        const int32x4_t upper = nn_sixteen_bytes(at);
        const int32x4_t lower = nn_sixteen_bytes(at + (r < pairs - 1 ? p->c_row : c_last));
        sums[r][2 * v] = nn_first_halves(upper, lower);
        sums[r][2 * v + 1] = nn_second_halves(upper, lower);
    }
    for (ptrdiff_t i = 0; i < p->n[0]; i++)
        for (ptrdiff_t j = 0; j < p->n[1]; j++) {
            const char *x = a + i * p->a[0] + j * p->a[1], *w = b + i * p->b[0] + j * p->b[1];
            for (ptrdiff_t k = 0; k < p->n[2]; k++, x += p->a[2], w += p->b[2]) {
                int32x4_t lanes[2][4];
                NN_WRITTEN_OUT
                for (int v = 0; v < 2 * vectors; v++) {
                    const char *at = w + v / 2 * p->b_vector + v % 2 * 16;
                    lanes[0][v] = nn_sixteen_bytes(at);
                    lanes[1][v] = nn_sixteen_bytes(at + 32);
                }
                NN_WRITTEN_OUT
                for (int r = 0; r < pairs; r++) {
                    const char *at = x + 2 * r * p->a_row;
                    const int32x4_t upper = nn_sixteen_bytes(at);
                    const int32x4_t lower = nn_sixteen_bytes(at + (r < pairs - 1 ? p->a_row : a_last));
                    const int32x4_t first = nn_first_halves(upper, lower), second = nn_second_halves(upper, lower);
                    NN_WRITTEN_OUT
                    for (int v = 0; v < 2 * vectors; v++)
                        sums[r][v] = nn_INSTR_of(nn_INSTR_of(sums[r][v], first, lanes[0][v]), second, lanes[1][v]);
                }
            }
        }
    NN_WRITTEN_OUT
    for (int r = 0; r < pairs; r++) NN_WRITTEN_OUT
    for (int v = 0; v < vectors; v++) {
        char *at = c + 2 * r * p->c_row + v * p->c_vector;
        vst1q_s32((int32_t *)at, nn_first_halves(sums[r][2 * v], sums[r][2 * v + 1]));
        if (r < pairs - 1 || rows % 2 == 0)
            vst1q_s32((int32_t *)(at + p->c_row), nn_second_halves(sums[r][2 * v], sums[r][2 * v + 1]));
    }
}
static void nn_INSTR(void *c, const void *a, const void *b, struct nn_product p) {
    for (ptrdiff_t r = 0; r < p.rows; r += 8)
        for (ptrdiff_t v = 0; v < p.vectors; v += 2) {
            const int rows = p.rows - r < 8 ? (int)(p.rows - r) : 8, vectors = p.vectors - v < 2 ? 1 : 2;
            char *to = (char *)c + r * p.c_row + v * p.c_vector;
            const char *x = (const char *)a + r * p.a_row, *w = (const char *)b + v * p.b_vector;
            switch ((rows + 1) / 2 * 2 + vectors) {
            case 3: nn_INSTR_tile(to, x, w, rows, 1, 1, &p); break;
            case 4: nn_INSTR_tile(to, x, w, rows, 1, 2, &p); break;
            case 5: nn_INSTR_tile(to, x, w, rows, 2, 1, &p); break;
            case 6: nn_INSTR_tile(to, x, w, rows, 2, 2, &p); break;
            case 7: nn_INSTR_tile(to, x, w, rows, 3, 1, &p); break;
            case 8: nn_INSTR_tile(to, x, w, rows, 3, 2, &p); break;
            case 9: nn_INSTR_tile(to, x, w, rows, 4, 1, &p); break;
            default: nn_INSTR_tile(to, x, w, rows, 4, 2, &p); break;
            }
        }
}
