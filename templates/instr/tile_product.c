/* Two tiles of rows by one vector or two: the sums stay in registers until all steps are done. */
static void nn_INSTR_pair(char *c, const char *a, const char *b, int upper, int vectors, const struct nn_product *p) {
    char *d = c + upper * p->c_row;
    _tile_loadd(0, c, p->c_row);
    _tile_loadd(2, d, p->c_row);
    if (vectors > 1) {
        _tile_loadd(1, c + p->c_vector, p->c_row);
        _tile_loadd(3, d + p->c_vector, p->c_row);
    }
    for (ptrdiff_t i = 0; i < p->n[0]; i++)
        for (ptrdiff_t j = 0; j < p->n[1]; j++)
            for (ptrdiff_t k = 0; k < p->n[2]; k++) {
                const char *x = a + i * p->a[0] + j * p->a[1] + k * p->a[2];
                const char *w = b + i * p->b[0] + j * p->b[1] + k * p->b[2];
                _tile_loadd(6, w, 64);
                _tile_loadd(4, x, p->a_row);
                _INSTR(0, 4, 6);
                _tile_loadd(5, x + upper * p->a_row, p->a_row);
                _INSTR(2, 5, 6);
                if (vectors > 1) {
                    _tile_loadd(7, w + p->b_vector, 64);
                    _INSTR(1, 4, 7);
                    _INSTR(3, 5, 7);
                }
            }
    _tile_stored(0, c, p->c_row);
    _tile_stored(2, d, p->c_row);
    if (vectors > 1) {
        _tile_stored(1, c + p->c_vector, p->c_row);
        _tile_stored(3, d + p->c_vector, p->c_row);
    }
}
/* One tile of rows by up to four vectors. */
static void nn_INSTR_four(char *c, const char *a, const char *b, int vectors, const struct nn_product *p) {
    _tile_loadd(0, c, p->c_row);
    if (vectors > 1) _tile_loadd(1, c + p->c_vector, p->c_row);
    if (vectors > 2) _tile_loadd(2, c + 2 * p->c_vector, p->c_row);
    if (vectors > 3) _tile_loadd(3, c + 3 * p->c_vector, p->c_row);
    for (ptrdiff_t i = 0; i < p->n[0]; i++)
        for (ptrdiff_t j = 0; j < p->n[1]; j++)
            for (ptrdiff_t k = 0; k < p->n[2]; k++) {
                const char *w = b + i * p->b[0] + j * p->b[1] + k * p->b[2];
                _tile_loadd(4, a + i * p->a[0] + j * p->a[1] + k * p->a[2], p->a_row);
                _tile_loadd(6, w, 64);
                _INSTR(0, 4, 6);
                if (vectors > 1) {
                    _tile_loadd(7, w + p->b_vector, 64);
                    _INSTR(1, 4, 7);
                }
                if (vectors > 2) {
                    _tile_loadd(6, w + 2 * p->b_vector, 64);
                    _INSTR(2, 4, 6);
                }
                if (vectors > 3) {
                    _tile_loadd(7, w + 3 * p->b_vector, 64);
                    _INSTR(3, 4, 7);
                }
            }
    _tile_stored(0, c, p->c_row);
    if (vectors > 1) _tile_stored(1, c + p->c_vector, p->c_row);
    if (vectors > 2) _tile_stored(2, c + 2 * p->c_vector, p->c_row);
    if (vectors > 3) _tile_stored(3, c + 3 * p->c_vector, p->c_row);
}
static void nn_INSTR(struct nn_tiles *t, void *c, const void *a, const void *b, struct nn_product p) {
    __asm volatile("" ::: "memory"); /* tiles are read and written by instructions that name no memory */
    for (ptrdiff_t r = 0, rows; r < p.rows; r += rows) {
        rows = p.rows - r < 32 ? p.rows - r : 32;
        const int n = (int)rows, pair = n > 16, upper = pair ? (n + 1) / 2 : n, most = pair ? 2 : 4;
        nn_tile_rows(t, upper, pair ? n - upper : n, (int)p.groups);
        for (ptrdiff_t v = 0; v < p.vectors; v += most) {
            const int vectors = p.vectors - v < most ? (int)(p.vectors - v) : most;
            char *to = (char *)c + r * p.c_row + v * p.c_vector;
            const char *x = (const char *)a + r * p.a_row, *w = (const char *)b + v * p.b_vector;
            if (pair) nn_INSTR_pair(to, x, w, upper, vectors, &p);
            else nn_INSTR_four(to, x, w, vectors, &p);
        }
    }
    __asm volatile("" ::: "memory");
}
