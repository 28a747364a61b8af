/* ImageDecoder: pictures in a file's bytes, of formats that are stored as plain samples: BMP without compression, and
 * the portable any-maps PBM, PGM and PPM. Which one it is, and how large, only the run knows; what is neither is a
 * fault of the run. */
#include "lower/ops/ops.h"
#include <string.h>

enum { RED, GREEN, BLUE, COLOURS };
/* Byte k of the file; 0 behind its end. */
static E byte_at(T data, E k) { return cast(I64, at_or(data, list1(index_of(k)), num(0))); }
static E literal(int64_t v) { return val(idx(v)); }
static E little_endian(T data, int at, int bytes) {
    E v = literal(0);
    for (int k = bytes; k-- > 0;) v = add(mul(v, literal(256)), byte_at(data, literal(at + k)));
    return v;
}
static E kept(const char *name, E v) { /* computed once */
    T t = stage(name, I64, list0(), v);
    return t ? at(t, list0()) : v;
}
static E flag(E condition) { return sel(condition, literal(1), literal(0)); }

/* BMP (Microsoft, BITMAPINFOHEADER): rows of 1, 4 or 8 bits with a palette, or of 24 or 32 bits as blue, green, red;
 * the lower rows first unless the height is negative, each begun at a multiple of 4 bytes. */
struct bmp {
    T data;
    E is, wide, high, bits, flipped, from, palette, pitch;
};
static void bmp_of(struct bmp *b, T data) {
    b->data = data;
    E raw = little_endian(data, 22, 4), head = little_endian(data, 14, 4), packing = little_endian(data, 30, 4);
    b->bits = kept("bits", little_endian(data, 28, 2));
    E palette = or_(or_(eq(b->bits, num(1)), eq(b->bits, num(4))), eq(b->bits, num(8)));
    E direct = or_(eq(b->bits, num(24)), eq(b->bits, num(32)));
    E masks = and_(eq(packing, num(3)), and_(eq(b->bits, num(32)), eq(little_endian(data, 54, 4), num(0xff0000))));
    E plain = and_(or_(palette, direct), or_(eq(packing, num(0)), masks));
    E magic = and_(eq(byte_at(data, literal(0)), num('B')), eq(byte_at(data, literal(1)), num('M')));
    b->is = kept("is_bmp", flag(and_(and_(magic, ge(head, num(40))), plain)));
    b->flipped = kept("flipped", flag(lt(raw, num(2147483648.0))));
    b->high = sel(lt(raw, num(2147483648.0)), raw, sub(num(4294967296.0), raw));
    b->wide = little_endian(data, 18, 4);
    b->from = kept("bmp_from", little_endian(data, 10, 4));
    b->palette = kept("palette", add(head, num(14)));
    b->pitch = kept("pitch", mul(div_(add(mul(b->wide, b->bits), num(31)), num(32)), num(4)));
}
static E bmp_sample(const struct bmp *b, E high, E y, E x, E c) {
    E row = add(b->from, mul(sel(eq(b->flipped, num(1)), sub(sub(high, num(1)), y), y), b->pitch));
    E bit = mul(x, b->bits), in_byte = sub(sub(num(8), b->bits), mod_(bit, num(8)));
    E code =
        mod_(shr_(byte_at(b->data, add(row, div_(bit, num(8)))), max_(in_byte, num(0))), shl_(literal(1), b->bits));
    E colour = sub(num(BLUE), c); /* blue stands first */
    E looked_up = byte_at(b->data, add(add(b->palette, mul(code, num(4))), colour));
    E direct = byte_at(b->data, add(add(row, div_(bit, num(8))), colour));
    return sel(lt(b->bits, num(9)), looked_up, direct);
}

static E bmp_end(const struct bmp *b) { /* the last row may end without its padding */
    E row = div_(add(mul(b->wide, b->bits), num(7)), num(8));
    return add(b->from, sel(gt(b->high, num(0)), add(mul(sub(b->high, num(1)), b->pitch), row), num(0)));
}

/* Portable any-maps (the manual pages pbm, pgm and ppm of Netpbm): P1 to P3 in text, P4 to P6 in bytes; bits, where 1
 * is black, grey, or red, green and blue. Samples are scaled to a greatest value of 255. */
struct pnm {
    T data, text;
    E kind, wide, high, most, from, channels, texts; /* texts: samples found in text */
};
static void pnm_of(struct pnm *p, T data) {
    E n = dim(data, 0);
    T field = scratch("field", I64, list1(idx(5)));
    call_kernel("pnm_header", I64, (const T[]){data, field}, 2, &n, 1);
    E *const to[] = {&p->kind, &p->wide, &p->high, &p->most, &p->from};
    p->data = data;
    for (int k = 0; k < 5; k++) *to[k] = at(field, list1(idx(k)));
    p->channels = kept("channels", sel(eq(mod_(p->kind, num(3)), num(0)), num(3), literal(1)));
    E is_text = and_(gt(p->kind, num(0)), lt(p->kind, num(4)));
    T count = stage("texts", I64, list0(), sel(is_text, mul(mul(p->wide, p->high), p->channels), num(0)));
    require(le(at(count, list0()), val(n)), "the picture is larger than its file");
    T first = stage("first", I64, list0(), min_(p->from, val(n))),
      bits = stage("is_p1", I64, list0(), flag(eq(p->kind, num(1))));
    E args[] = {n, size_from("samples", count, 0, idx(0), idx(DIM_MAX)), size_from("text", first, 0, idx(0), n),
                size_from("digits", bits, 0, idx(0), idx(1))};
    p->text = scratch("sample", I64, list1(args[1]));
    T found = scratch("found", I64, list0());
    call_kernel("pnm_text", I64, (const T[]){data, p->text, found}, 3, args, 4);
    p->texts = at(found, list0());
}
static E pnm_sample(const struct pnm *p, E y, E x, E c) {
    E one = eq(p->channels, num(1)), place = add(mul(y, p->wide), x);
    E n = sel(one, place, add(mul(place, num(3)), c)), wide_sample = gt(p->most, num(255));
    E at_2 = add(p->from, mul(n, num(2)));
    E two = add(mul(byte_at(p->data, at_2), num(256)), byte_at(p->data, add(at_2, num(1))));
    E in_bytes = sel(wide_sample, two, byte_at(p->data, add(p->from, n)));
    E row = add(p->from, mul(y, div_(add(p->wide, num(7)), num(8))));
    E bit = mod_(shr_(byte_at(p->data, add(row, div_(x, num(8)))), sub(num(7), mod_(x, num(8)))), num(2));
    E in_text = at_or(p->text, list1(index_of(n)), num(0));
    E v = sel(lt(p->kind, num(4)), in_text, sel(eq(p->kind, num(4)), bit, in_bytes));
    E part = div_(cast(F64, mul(min_(v, p->most), num(255))), cast(F64, max_(p->most, num(1))));
    E scaled = cast(I64, rint_(part));
    return sel(eq(mod_(p->kind, num(3)), num(1)), sel(eq(v, num(0)), num(255), literal(0)), scaled);
}
static E pnm_end(const struct pnm *p) {
    E samples = mul(mul(p->wide, p->high), p->channels), of_bits = mul(p->high, div_(add(p->wide, num(7)), num(8)));
    E of_bytes = mul(samples, sel(gt(p->most, num(255)), num(2), literal(1)));
    E missing = sub(samples, p->texts); /* of text each takes a byte at least */
    return sel(lt(p->kind, num(4)), add(missing, val(dim(p->data, 0))),
               add(p->from, sel(eq(p->kind, num(4)), of_bits, of_bytes)));
}

static void op_imagedecoder(void) {
    T data = in(0);
    const char *format = str_attr("pixel_format");
    bool grey = !strcmp(format, "Grayscale"), blue_first = !strcmp(format, "BGR");
    if (fail_if(!grey && !blue_first && strcmp(format, "RGB"), E_ATTR,
                "attribute \"pixel_format\" must be RGB, BGR or Grayscale"))
        return;
    if (fail_if(rank(data) != 1, E_RANK, "the file's bytes have rank %d, not 1", rank(data))) return;
    struct bmp b;
    struct pnm p;
    bmp_of(&b, data), pnm_of(&p, data);
    E is_bmp = eq(b.is, num(1));
    require(
        or_(is_bmp, gt(p.kind, num(0))),
        "the picture is neither a BMP without compression nor a PBM, PGM or PPM: convert it to one of them (JPEG, PNG, "
        "TIFF, WebP and JPEG 2000 are not decoded)");
    T tall = stage("tall", I64, list0(), sel(is_bmp, b.high, p.high)),
      wide = stage("wide", I64, list0(), sel(is_bmp, b.wide, p.wide));
    E height = size_from("height", tall, 0, idx(0), idx(DIM_MAX)),
      width = size_from("width", wide, 0, idx(0), idx(DIM_MAX));
    require(le(mul(height, width), mul(dim(data, 0), idx(8))), "the picture is larger than its file");
    E end = sel(is_bmp, bmp_end(&b), pnm_end(&p));
    require(le(end, val(dim(data, 0))), "the file ends before its picture");
    X i = axes_named(list3(height, width, idx(grey ? 1 : COLOURS)), "y x c");
    E v[COLOURS];
    for (int c = 0; c < (grey ? COLOURS : 1); c++) {
        E colour = grey         ? literal(c)
                   : blue_first ? sub(num(BLUE), val(i.v[2]))
                                : val(i.v[2]),
          y = val(i.v[0]), x = val(i.v[1]);
        v[c] = sel(is_bmp, bmp_sample(&b, val(height), y, x, colour), pnm_sample(&p, y, x, colour));
    }
    /* luma of ITU-R BT.601, in 16 bits */
    E luma = grey ? add(add(mul(v[RED], num(19595)), mul(v[GREEN], num(38470))), mul(v[BLUE], num(7471))) : NULL;
    out(0, U8, i, cast(I32, grey ? shr_(add(luma, num(32768)), literal(16)) : v[0]));
}

static const struct op_slot s_bytes[] = {{"encoded_stream", TSET(U8), 0}, {0}};
static const struct op_attr a_format[] = {A_STRING("pixel_format", .s = "RGB"), {0}};
const struct op ops_image[] = {
    {"", "ImageDecoder", 20, 20, a_format, s_bytes, slots_y, .define = op_imagedecoder,
     .spec = "ImageDecoder-20, of BMP and PNM; other formats stop the run instead of giving an empty picture"},
    {0},
};
