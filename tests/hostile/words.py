"""Hostile names, as many as are wanted, all different; see the program `names`."""
import random

import cases

CPP_KEYWORDS = set(b"""alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class co_await
co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export
false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename using
virtual wchar_t xor xor_eq typeof typeof_unqual""".split())
C_KEYWORDS = set(b"""auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local""".split())
# Macros and functions of the headers that generated files include, or whose names short variables could have.
LIBRARY = b"""INT8_MAX INT32_MAX INT64_MAX INT64_MIN UINT8_MAX SIZE_MAX INT64_C UINT64_C PTRDIFF_MAX NULL offsetof NAN
INFINITY HUGE_VAL MATH_ERRNO FP_NAN isnan isinf signbit fpclassify isgreater M_PI M_E MAXFLOAT DOMAIN OVERFLOW PLOSS
TLOSS SING CHAR_BIT FLT_MAX DBL_EPSILON assert errno EDOM ERANGE EOF stdin stdout stderr BUFSIZ SEEK_SET RAND_MAX
EXIT_SUCCESS bool true false complex I _Complex_I signgam linux unix i386 near far y0 y1 yn j0 j1 jn gamma lgamma drem
index rindex main exit printf memcpy memset memmove strlen strcmp malloc free div abs exp log pow sqrt floor ceil
round rint trunc fmin fmax fma fmaf erf sin cos tan tanh tanhf expf time clock int8_t uint8_t int64_t size_t ptrdiff_t
uintptr_t max_align_t FILE va_list __func__ __FILE__ __LINE__ __DATE__ __STDC__ __cplusplus __builtin_trap
__attribute__ __asm__ __restrict __has_include defined _start _exit environ alloca bzero yield import module final
override interface small hyper min max ERROR IN OUT PASCAL CONST""".split()
PARTS = [b"*/", b"/*", b"//", b"\n", b"\r\n", b"\r", b"\\", b"\\\n", b"??/", b"??/\n", b"??=", b"??'", b"\"", b"'", b"#",
         b"\n#include \"/etc/passwd\"\n", b"\n#define x y\n", b"#error", b"%:", b"<:", b"int x;", b"};", b"{", b"(", b")",
         b";", b",", b"@", b"@NAME@", b"$(X)", b"${X}", b"`x`", b"$", b"%s", b"%n", b"\t", b"\v", b"\f", b" ",
         b"\x1b[2J", b"\x7f", b"\x01", b"\x1a", b"\x80", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
         "\u202e".encode(), "\u2066".encode(), "\u2028".encode(), "\u0085".encode(), "\ufeff".encode(), "é".encode(),
         "日本".encode(), "\U0001f600".encode(), b"a", b"B", b"_", b"__", b"0", b"1e5", b"x", b"R\"(", b")\"", b"L\"", b"u8",
         b"_Pragma(\"x\")", b"asm(\"\")", b"]]", b"[[noreturn]]", b"<!--", b"''", b"'''", b"#[[", b"]]#", b"$<1:x>",
         b"nn_", b"NN_", b"ZQ", b"\\u0041", b"\\N{x}", b"&lt;", b":", b".", b"/", b"..", b"-", b"=", b"?", b"!", b"~"]
NO_NAMES = (b"?", b"*", b"-1", b"None", b"none")     # of dims: each such dim is one of its own
SEPARATORS = [b".", b"/", b"-", b"_", b" ", b":", b"__", b"\xc3\xa9", b"\n", b"*/", b"+", b"$", b"?", b"\\"]


def names(count, seed, more=()):
    """`count` different names; `more`: the identifiers of generated code, which are tried as they are."""
    r = random.Random(seed)
    known = [n.encode("utf-8", "surrogatepass") for n in cases.NAMES]
    pool = list(dict.fromkeys(known + sorted(C_KEYWORDS | CPP_KEYWORDS) + LIBRARY + list(more)))
    seen, out = set(), []

    def take(name):
        if name and name not in seen and name not in NO_NAMES and b"\0" not in name:
            seen.add(name)
            out.append(name)
    for word in pool:
        take(word)
    while len(out) < count:
        kind = r.randrange(12)
        if kind < 6:
            take(b"".join(r.choices(PARTS, k=r.randrange(1, 7))))
        elif kind < 8:      # equal when what is no letter is left out or becomes `_`
            base = (r.choice([b"layer", b"x", b"a", b"conv1"]), str(r.randrange(4)).encode(),
                    r.choice([b"w", b"2", b"out"]))
            for _ in range(4):
                take(base[0] + r.choice(SEPARATORS) + base[1] + r.choice(SEPARATORS) + base[2] +
                     r.choice([b"", b"2", b"_2"]))
        elif kind < 10:     # a word in the midst of other things, or with a number
            word = r.choice(pool)
            take(r.choice(PARTS) + word + r.choice(PARTS + [b"", b""]))
            take(word + str(r.randrange(12)).encode())
        elif kind < 11:
            take(bytes(r.randrange(1, 256) for _ in range(r.randrange(1, 40))))
        else:
            take(r.choice(PARTS) * r.choice([1, 40, 200, 1500]) + r.choice(pool) * r.choice([1, 30]))
    r.shuffle(out)
    return out[:count]


def file_name(name):
    """A name that a file can have."""
    name = name.replace(b"/", b"|")[:180]
    return b"x" + name if name[:1] in (b"-", b".") else name


def says(text, name):
    """Is text the name, or what diagnostics make of it (some bytes escaped, cut after 60)?"""
    if text == name:
        return True
    whole, text = (True, text) if not text.endswith(b"...") else (False, text[:-3])
    at = 0
    for c in name:
        if at == len(text) and not whole:
            return True
        raw = bytes([c])
        forms = (raw, b"\\" + raw, b"\\x%02x" % c, {10: b"\\n", 9: b"\\t", 13: b"\\r"}.get(c, raw))
        form = next((f for f in sorted(forms, key=len)[::-1] if text.startswith(f, at)), None)
        if form is None:
            return False
        at += len(form)
    return at == len(text)
