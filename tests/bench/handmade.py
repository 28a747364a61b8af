"""Hand-made C for the shapes of kernels.py: what our printed kernels are measured against.

One function for each candidate (tile of MR pixels by NR vectors, rows of tiles that share a panel of weights, chunks of
input channels), every size a constant, accumulators as variables of their own. Layouts as in the generated code: x and y
in blocks of VL channels (x with a zero border), w as [oc/(NR*VL)][ic/VL][kh][kw][VL][NR*VL]; a GEMM has row-major
x and y and w as [n/(NR*VL)][k][NR*VL]."""

HEAD = """#include <stddef.h>
#if VL == 16
#include <immintrin.h>
typedef __m512 vf;
#define LD(p) _mm512_loadu_ps(p)
#define ST(p, v) _mm512_storeu_ps(p, v)
#define FMA(a, b, c) _mm512_fmadd_ps(_mm512_set1_ps(a), b, c)
#define RELU(v) _mm512_max_ps(v, _mm512_setzero_ps())
#else
#include <immintrin.h>
typedef __m256 vf;
#define LD(p) _mm256_loadu_ps(p)
#define ST(p, v) _mm256_storeu_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(_mm256_set1_ps(a), b, c)
#define RELU(v) _mm256_max_ps(v, _mm256_setzero_ps())
#endif
"""


def balanced(n, most):
    tiles = -(-n // most)
    return [n // tiles + (k < n % tiles) for k in range(tiles)]


def micro(name, m, nr, vl, ic, k, s, pitch_row, pitch_block, out_block, unroll, first, last):
    """One tile: m pixels by nr vectors over a chunk of `ic` blocks of input channels."""
    o = [f"static inline __attribute__((always_inline)) void {name}(const float *restrict x, const float *restrict w,"
         f" const float *restrict b, float *restrict y) {{"]
    for i in range(m):
        for j in range(nr):
            o.append(f" vf c{i}_{j} = LD({f'b + {j * vl}' if first else f'y + {j * out_block + i * vl}'});")
    o.append(f" for (int ib = 0; ib < {ic}; ib++, x += {pitch_block}) {{")
    source = "x"
    if k > 1:
        o.append(f"  const float *xr = x;\n  for (int kh = 0; kh < {k}; kh++, xr += {pitch_row}) {{\n"
                 f"   const float *xc = xr;\n   for (int kw = 0; kw < {k}; kw++, xc += {vl}) {{")
        source = "xc"
    o.append(f"#pragma GCC unroll 1\n    for (int c = 0; c < {vl}; c += {unroll}, w += {unroll * nr * vl}) {{")
    for u in range(unroll):
        loads = " ".join(f"const vf b{j} = LD(w + {(u * nr + j) * vl});" for j in range(nr))
        o.append(f"     {{ {loads}")
        for i in range(m):
            steps = " ".join(f"c{i}_{j} = FMA({source}[c + {i * s * vl + u}], b{j}, c{i}_{j});" for j in range(nr))
            o.append(f"      {steps}")
        o.append("     }")
    o.append("    }" + ("}}" if k > 1 else ""))
    o.append(" }")
    for i in range(m):
        for j in range(nr):
            value = f"RELU(c{i}_{j})" if last else f"c{i}_{j}"
            o.append(f" ST(y + {j * out_block + i * vl}, {value});")
    return "\n".join(o + ["}"])


def conv(name, vl, shape, mr, nr, rows, chunk, unroll=4):
    """The convolution as C text; chunk: blocks of input channels at a time; rows: that share a panel of weights."""
    ic, h, oc, k, s = shape
    p = k // 2
    oh = (h + 2 * p - k) // s + 1
    icb, hp, width, high = ic // vl, h + 2 * p, oh, oh
    pitch_row, pitch_block = hp * vl, hp * hp * vl
    if k == 1 and s == 1:
        width, high = oh * oh, 1
    sizes, chunks = balanced(width, mr), icb // chunk
    o, names = [], {}
    for first in (0, 1):
        for last in (0, 1):
            if (first == last) != (chunks == 1) and not (chunks > 2 and not first and not last):
                continue
            for m in sorted(set(sizes)):
                names[first, last, m] = f"{name}_{m}_{first}{last}"
                o.append(micro(names[first, last, m], m, nr, vl, chunk, k, s, pitch_row, pitch_block, oh * oh * vl,
                               unroll, first, last))
    panel = chunk * k * k * vl * nr * vl
    o.append(f"void {name}(const float *x, const float *w, const float *b, float *y) {{")
    o.append(f" for (int t = 0; t < {high}; t += {rows})\n  for (int g = 0; g < {oc // (nr * vl)}; g++) {{")
    for c in range(chunks):
        kind = (int(c == 0), int(c == chunks - 1))
        o.append(f"   for (int r = t; r < t + {rows} && r < {high}; r++) {{")
        o.append(f"    const float *xp = x + (ptrdiff_t)r * {s * pitch_row} + {c * chunk * pitch_block};")
        o.append(f"    float *yp = y + (ptrdiff_t)g * {nr * oh * oh * vl} + r * {oh * vl};")
        o.append(f"    const float *wp = w + (ptrdiff_t)g * {panel * chunks} + {c * panel}, *bp = b + g * {nr * vl};")
        for m in sorted(set(sizes), reverse=True):
            o.append(f"    for (int q = 0; q < {sizes.count(m)}; q++, xp += {m * s * vl}, yp += {m * vl})"
                     f" {names[(*kind, m)]}(xp, wp, bp, yp);")
        o.append("   }")
    return "\n".join(o + ["  }", "}"])


def gemm(name, vl, shape, mr, nr, unroll=4):
    m, k, n = shape
    sizes, nv = balanced(m, mr), nr * vl
    o = []
    for rows in sorted(set(sizes)):
        o.append(f"static inline __attribute__((always_inline)) void {name}_{rows}(const float *restrict x,"
                 f" const float *restrict w, const float *restrict b, float *restrict y) {{")
        o += [f" vf c{i}_{j} = LD(b + {j * vl});" for i in range(rows) for j in range(nr)]
        o.append(f"#pragma GCC unroll 1\n for (int k = 0; k < {k}; k += {unroll}, w += {unroll * nv}) {{")
        for u in range(unroll):
            o.append("  { " + " ".join(f"const vf b{j} = LD(w + {u * nv + j * vl});" for j in range(nr)))
            for i in range(rows):
                o.append("   " + " ".join(f"c{i}_{j} = FMA(x[{i * k} + k + {u}], b{j}, c{i}_{j});" for j in range(nr)))
            o.append("  }")
        o.append(" }")
        o += [f" ST(y + {i * n + j * vl}, c{i}_{j});" for i in range(rows) for j in range(nr)]
        o.append("}")
    o.append(f"void {name}(const float *x, const float *w, const float *b, float *y) {{")
    o.append(f" for (int g = 0; g < {n // nv}; g++) {{\n  const float *xp = x, *wp = w + (ptrdiff_t)g * {k * nv};\n"
             f"  float *yp = y + g * {nv};")
    for rows in sorted(set(sizes), reverse=True):
        o.append(f"  for (int q = 0; q < {sizes.count(rows)}; q++, xp += {rows * k}, yp += {rows * n})"
                 f" {name}_{rows}(xp, wp, b + g * {nv}, yp);")
    return "\n".join(o + [" }", "}"])


def candidates(kind, vl, shape):
    """(name, NR, text) of what a person would try for the shape."""
    tiles = [(14, 2), (9, 3), (7, 4), (13, 2)] if vl == 16 else [(6, 2), (4, 3), (5, 2)]
    out = []
    if kind == "gemm":
        m, _, n = shape
        for mr, nr in tiles:
            for unroll in (1, 4):
                if n % (nr * vl) == 0 and mr <= m:
                    out.append((f"{mr}x{nr}_u{unroll}", nr, lambda nm, a=(mr, nr, unroll): gemm(nm, vl, shape, *a)))
        return out
    ic, h, oc, k, s = shape
    oh = (h + 2 * (k // 2) - k) // s + 1
    icb = ic // vl
    for mr, nr in tiles:
        if oc % (nr * vl):
            continue
        for chunk in sorted({icb} | {c for c in (4, 8) if icb % c == 0 and icb > c and k > 1}):
            for rows in sorted({oh if k > 1 else 1, 7} & set(range(1, oh + 1))):
                for unroll in (2, 4):
                    out.append((f"{mr}x{nr}_r{rows}_c{chunk}_u{unroll}", nr,
                                lambda nm, a=(mr, nr, rows, chunk, unroll): conv(nm, vl, shape, *a)))
    return out
