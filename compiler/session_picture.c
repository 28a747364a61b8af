/* A picture as the values of an input: which axes of the tensor are rows, columns and colours, and how pixels become
 * numbers. See session.h. */
#include "compiler/import/picture.h"
#include "compiler/session.h"
#include "ir/base/memory.h"

/* Axes of the input; -1: it has no such axis. */
struct layout {
    int batch, channel, row, column;
};
static int64_t fixed(const struct buf *b, int axis) {
    int64_t n;
    return axis >= 0 && x_is_int(b->logical[axis], &n) ? n : -1;
}
static bool is_colours(const struct buf *b, int axis) {
    int64_t n = fixed(b, axis);
    return n == 1 || n == 3 || n == 4;
}
/* [rows, columns], with colours before or after them, or in addition with a leading batch axis of one. */
static bool find_layout(const struct buf *b, struct layout *l) {
    int first = b->nlogical == 4;
    *l = (struct layout){first ? 0 : -1, -1, first, first + 1};
    if (b->nlogical == 2) return true;
    if (b->nlogical != 3 && b->nlogical != 4) return false;
    if (first && fixed(b, 0) > 1) return false;
    if (is_colours(b, first)) l->channel = first, l->row = first + 1, l->column = first + 2;
    else if (is_colours(b, first + 2)) l->channel = first + 2;
    return l->channel >= 0;
}
struct wanted {
    struct session *s;
    const struct io *io;
    struct layout layout;
    const char *path;
};
static bool right_size(void *env, const struct picture *p) {
    const struct wanted *w = env;
    int64_t rows = fixed(w->io->buf, w->layout.row), columns = fixed(w->io->buf, w->layout.column);
    if ((rows < 0 || rows == p->height) && (columns < 0 || columns == p->width)) return true;
    struct ctx *c = w->s->c;
    diag(&c->diags, DIAG_ERROR, E_SHAPE, "the picture is %lld wide and %lld high, input %s is %s", (long long)p->width,
         (long long)p->height, diag_quote(&c->arena, w->io->buf->name), shape_text(w->s->w->program, w->io->buf));
    diag_help(&c->diags, "pictures are not resized here: convert PICTURE -resize '%lldx%lld!' RESIZED",
              (long long)(columns < 0 ? p->width : columns), (long long)(rows < 0 ? p->height : rows));
    return false;
}
/* One colour of a pixel; if there is only one, the brightness, by ITU-R BT.601. */
static double value_of(const uint8_t *rgba, int64_t channel, int64_t channels) {
    return channels > 1 ? rgba[channel] : (double)((rgba[0] * 19595 + rgba[1] * 38470 + rgba[2] * 7471 + 0x8000) >> 16);
}
static void fill(const struct options *o, const struct layout *l, int64_t channels, const struct picture *p,
                 struct tensor *t) {
    bool behind = l->channel > l->column;
    for (int64_t channel = 0; channel < channels; channel++) {
        const double *mean = o->mean.n ? &o->mean.v[o->mean.n > 1 ? channel : 0] : NULL;
        const double *scale = o->scale.n ? &o->scale.v[o->scale.n > 1 ? channel : 0] : NULL;
        for (int64_t k = 0; k < p->width * p->height; k++) {
            int64_t at = behind ? k * channels + channel : channel * p->width * p->height + k;
            double v = value_of(p->rgba + 4 * k, channel, channels);
            if (dtype_is_float(t->type)) tensor_set_f(t, at, (v - (mean ? *mean : 0)) / (scale ? *scale : 1));
            else tensor_set_i(t, at, (int64_t)v);
        }
    }
}
/* Can the input take a picture? false: a diagnostic. */
static bool takes_picture(const struct wanted *w, int64_t channels, bool laid_out) {
    struct ctx *c = w->s->c;
    const struct options *o = w->s->o;
    enum dtype t = w->io->buf->type;
    const char *name = diag_quote(&c->arena, w->io->buf->name), *shape = shape_text(w->s->w->program, w->io->buf);
    bool numbers = dtype_is_float(t) ? dtype_bits(t) >= 16 : t == U8 || (dtype_is_int(t) && dtype_bits(t) > 8);
    if (!laid_out || !numbers) {
        diag_at(&c->diags, DIAG_ERROR, numbers ? E_SHAPE : E_TYPE, w->path, NULL,
                "a picture cannot be values of input %s, which is %s", name, shape);
        diag_help(&c->diags, numbers ? "pictures are for [rows, columns], with 1, 3 or 4 colours in front or behind, "
                                       "and a batch of 1 before; give a .npy"
                                     : "pictures are for u8, wider integers and floats; give a .npy");
        return false;
    }
    if ((o->mean.n || o->scale.n) && !dtype_is_float(t)) {
        diag(&c->diags, DIAG_ERROR, E_USAGE, "--mean and --scale make floats, input %s is %s", name, shape);
        return false;
    }
    for (int k = 0; k < 2; k++) {
        int n = k ? o->scale.n : o->mean.n;
        if (n <= 1 || n == channels) continue;
        diag(&c->diags, DIAG_ERROR, E_USAGE, "--%s has %d numbers, input %s has %lld colours", k ? "scale" : "mean", n,
             name, (long long)channels);
        return false;
    }
    return true;
}
struct tensor *session_picture(struct session *s, const char *path, const struct io *io) {
    struct wanted w = {.s = s, .io = io, .path = path};
    struct picture p;
    int64_t dims[4] = {1, 1, 1, 1};
    bool laid_out = find_layout(io->buf, &w.layout);
    int64_t channels = laid_out && w.layout.channel >= 0 ? fixed(io->buf, w.layout.channel) : 1;
    if (!takes_picture(&w, channels, laid_out) || !picture_read(&s->c->diags, path, right_size, &w, &p)) return NULL;
    dims[w.layout.row] = p.height, dims[w.layout.column] = p.width;
    if (w.layout.channel >= 0) dims[w.layout.channel] = channels;
    struct tensor *t = tensor_new(&s->c->arena, io->buf->type, dims, io->buf->nlogical);
    s->pictures = true;
    if (t) fill(s->o, &w.layout, channels, &p, t);
    else diag(&s->c->diags, DIAG_ERROR, E_SIZE, "the picture is too large");
    picture_free(&p);
    return t;
}
