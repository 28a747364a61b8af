"""Random cases of operators on strings, for ms_ops.py."""
import numpy as np
from ms_cases import Case, cases, shape_of
from onnx import helper

WORDS = ["", "a", "b", "ab", "abc", "abd", "Ab", "zebra", "  x ", "ä", "ÄÖ", "straße", "日本語", "x" * 300, "a,b", ",", "\n", "e\u0301",
         "a\0b"]


def strings(r, shape, words=WORDS):
    return np.array([r.choice(words) for _ in range(int(np.prod(shape)))], object).reshape(shape)


def case(op, inputs, **more):
    return Case(op, inputs, domain="", **more)


def some(r, least=1, most=4, zero=True):
    s = shape_of(r, r.randint(least, most), 300)
    if zero and s and r.random() < 0.1:
        s[r.randrange(len(s))] = 0
    return s


def i64(*v):
    return np.array(v, np.int64)


@cases("Equal")
def equal(r, n):
    s = some(r, 0)
    few = r.sample(WORDS, 3)
    t = [1 if r.random() < 0.3 else d for d in s][r.choice([0, 0, 1]) if s else 0:]
    return case("Equal", [strings(r, s, few), strings(r, t, few)])


@cases("Gather")
def gather(r, n):
    s = some(r, zero=False)
    axis, x = r.randrange(-len(s), len(s)), strings(r, s)
    index = n.integers(-s[axis], s[axis], some(r, 0, 2)).astype(r.choice([np.int32, np.int64]))
    # of rows ONNX Runtime takes the first string only
    return case("Gather", [x, index], axis=axis, expected=[np.take(x, index, axis)])


@cases("Pad")
def pad(r, n):
    s = some(r)
    x, before, after = strings(r, s), [r.randint(0, 2) for _ in s], [r.randint(0, 2) for _ in s]
    value = np.array(r.choice(WORDS), object)       # ONNX Runtime pads no strings
    return case("Pad", [x, i64(*before, *after)] + ([value] if value != "" else []), fixed={1: [0]},
                expected=[np.pad(x, list(zip(before, after)), constant_values=value.item())])


@cases("GatherElements")
def gather_elements(r, n):
    s = some(r, zero=False)
    axis = r.randrange(len(s))
    t = list(s)
    t[axis] = r.randint(0, 5)
    return case("GatherElements", [strings(r, s), n.integers(-s[axis], s[axis], t)], axis=axis)


@cases("GatherND")
def gather_nd(r, n):
    s = some(r, zero=False)
    k = r.randint(1, len(s))
    index = np.stack([n.integers(-d, d, (r.randint(1, 5),) if k == 1 else (4,)) for d in s[:k]], -1)
    return case("GatherND", [strings(r, s), index.astype(np.int64)], fixed={1: [index.ndim - 1]})


@cases("ScatterElements")
def scatter_elements(r, n):
    s = some(r, zero=False)
    axis = r.randrange(len(s))
    t = [r.randint(1, d) for d in s]
    index = np.argsort(n.random([s[axis] if k == axis else d for k, d in enumerate(t)]), axis=axis)
    index = np.take(index, range(t[axis]), axis)
    return case("ScatterElements", [strings(r, s), index.astype(np.int64), strings(r, t)], axis=axis)


@cases("ScatterND")
def scatter_nd(r, n):
    s = some(r, zero=False)
    rows = n.permutation(s[0])[:r.randint(1, s[0])].reshape(-1, 1)
    return case("ScatterND", [strings(r, s), rows.astype(np.int64), strings(r, [len(rows)] + s[1:])],
                fixed={1: [1]})


@cases("Reshape")
def reshape(r, n):
    s, to = r.choice([(some(r), i64(-1)), ([4, 6], i64(3, -1)), ([2, 3, 4], i64(0, -1, 2)), ([0, 3], i64(3, 0))])
    return case("Reshape", [strings(r, s), to], allowzero=int(s == [0, 3]), fixed={1: [0]})


@cases("Concat")
def concat(r, n):
    s = some(r)
    axis = r.randrange(-len(s), len(s))
    parts = []
    for _ in range(r.randint(1, 4)):
        t = list(s)
        t[axis] = r.randint(0, 4)
        parts.append(strings(r, t))
    return case("Concat", parts, axis=axis)


@cases("Slice")
def slice_(r, n):
    s = some(r)
    axes = r.sample(range(len(s)), r.randint(1, len(s)))
    step = [r.choice([1, 1, 2, -1, -2]) for _ in axes]
    far = np.iinfo(np.int64).max
    a = [r.randint(-s[k] - 1, s[k] + 1) for k in axes]
    b = [r.choice([r.randint(-s[k] - 1, s[k] + 1), far if d > 0 else -far]) for k, d in zip(axes, step)]
    return case("Slice", [strings(r, s), i64(*a), i64(*b), i64(*axes), i64(*step)])


@cases("Transpose")
def transpose(r, n):
    s = some(r)
    return case("Transpose", [strings(r, s)], perm=r.sample(range(len(s)), len(s)))


@cases("Expand")
def expand(r, n):
    s = some(r)
    t = [1 if r.random() < 0.4 else d for d in s]
    return case("Expand", [strings(r, t), i64(*s)], fixed={1: [0]})


@cases("Where")
def where(r, n):
    s = some(r)
    t = [1 if r.random() < 0.3 else d for d in s]
    return case("Where", [n.random(s) < 0.5, strings(r, t), strings(r, s[len(s) // 2:])])


@cases("Squeeze", "Unsqueeze")
def squeeze(r, n, op):
    s = some(r)
    k = r.randrange(len(s) + 1)
    return case(op, [strings(r, s[:k] + [1] + s[k:] if op == "Squeeze" else s), i64(k)], fixed={1: (0,)})


@cases("Identity")
def identity(r, n):
    return case("Identity", [strings(r, some(r, 0))])


@cases("Flatten")
def flatten(r, n):
    s = some(r)
    x, axis = strings(r, s), r.randrange(len(s))
    return case("Flatten", [x], axis=axis, expected=[x.reshape(int(np.prod(s[:axis])), int(np.prod(s[axis:])))])


@cases("Split")
def split(r, n):
    s = some(r)
    axis, parts = r.randrange(len(s)), [r.randint(0, 3) for _ in range(r.randint(1, 4))]
    s[axis] = sum(parts)
    x = strings(r, s)       # ONNX Runtime splits no strings
    return case("Split", [x, i64(*parts)], outputs=len(parts), axis=axis, constant=[1],
                expected=np.split(x, np.cumsum(parts)[:-1], axis))


@cases("Tile")
def tile(r, n):
    s = some(r, 1, 3)
    return case("Tile", [strings(r, s), i64(*[r.randint(0, 3) for _ in s])])


@cases("Compress")
def compress(r, n):
    s = some(r)
    axis = r.randrange(len(s))
    return case("Compress", [strings(r, s), n.random(s[axis]) < 0.5], axis=axis)


@cases("Shape", "Size")
def shape(r, n, op):
    return case(op, [strings(r, some(r, 0))])


@cases("OneHot")
def onehot(r, n):
    return case("OneHot", [n.integers(-3, 3, some(r, 1, 2)), i64(r.randint(1, 5)), strings(r, [2])], axis=r.choice([0, -1]))


@cases("Unique")
def unique(r, n):
    s = some(r, 1, 3, zero=False)
    axis = {"axis": r.randrange(len(s))} if r.random() < 0.5 else {}
    return case("Unique", [strings(r, s, r.sample(WORDS, 3))], outputs=4, sorted=r.randint(0, 1), **axis)


@cases("Cast", "CastLike")
def cast(r, n, op):
    """Numbers to strings and back; many in a row, as vectors would take them."""
    dtype = r.choice([np.float32, np.float64, np.int32, np.int64, np.uint8])
    x = (n.normal(size=r.choice([1, 7, 40])) * 10.0 ** r.randint(-6, 6)).astype(dtype)
    if r.random() < 0.3:
        x = np.array([str(v) for v in x.tolist()], object)
    to, like = (np.dtype(dtype), np.zeros(1, dtype)) if x.dtype == object else (np.dtype(object), strings(r, [1]))
    if op == "CastLike":
        return case(op, [x, like], must_run=False)
    return case(op, [x], to=8 if to == object else int(helper.np_dtype_to_tensor_dtype(to)))


@cases("StringConcat")
def concat_strings(r, n):
    s = some(r)
    return case("StringConcat", [strings(r, s), strings(r, [1 if r.random() < 0.3 else d for d in s])])


@cases("StringSplit")
def split_strings(r, n):
    """As Python splits; ONNX Runtime finds nothing in an empty string, and knows one blank only."""
    by = {} if r.random() < 0.3 else {"delimiter": r.choice([",", "a", "ab", "", "ä", "a\0", "\0"])}
    most = {} if r.random() < 0.5 else {"maxsplit": r.randint(0, 3)}
    x = strings(r, some(r, 1, 2, zero=False))
    parts = [w.split(by.get("delimiter") or None, most.get("maxsplit", -1)) for w in x.ravel()]
    k = max(map(len, parts))
    y = np.array([p + [""] * (k - len(p)) for p in parts], object).reshape(*x.shape, k)
    return case("StringSplit", [x], outputs=2, expected=[y, i64(*map(len, parts)).reshape(x.shape)], **by, **most)


@cases("TfIdfVectorizer")
def tfidf(r, n):
    """N-grams of up to 4 words, of a vocabulary so small that many are met, also with gaps; some lengths have none. A 1-gram
    is looked at once, whatever may be skipped."""
    vocabulary = r.choice([WORDS, [3, -7, 1 << 30, 0, 5], list(range(4))])
    vocabulary = r.sample(vocabulary, min(len(vocabulary), r.randint(2, 5)))
    longest = r.randint(1, 4)
    counts, pool, ngrams = [], [], 0
    for length in range(1, longest + 1):
        counts.append(len(pool))
        grams = {tuple(r.choice(vocabulary) for _ in range(length)) for _ in range(r.choice([0, 1, 3, 6]) if ngrams else 3)}
        pool += [w for g in sorted(grams, key=lambda _: r.random()) for w in g]
        ngrams += len(grams)
    places = r.sample(range(ngrams + r.choice([0, 3])), ngrams)
    words = isinstance(pool[0], str)
    s = some(r, 1, 2, zero=False)
    x = [r.choice(vocabulary + [WORDS[2] if words else 77]) for _ in range(int(np.prod(s)))]
    x = np.array(x, object if words else r.choice([np.int32, np.int64])).reshape(s)
    more = {"weights": [float(v) for v in n.normal(size=ngrams).astype(np.float32)]} if r.random() < 0.6 else {}
    least = r.randint(1, longest)
    return case("TfIdfVectorizer", [x], mode=r.choice(["TF", "IDF", "TFIDF"]), min_gram_length=least, max_gram_length=longest,
                max_skip_count=r.choice([0, 0, 1, 2, 5]), ngram_counts=counts, ngram_indexes=places,
                **{"pool_strings" if words else "pool_int64s": pool}, **more)


@cases("StringNormalizer")
def normalize(r, n):
    words = [w for w in WORDS if w.isascii()]       # the locale C of ONNX Runtime knows no others
    stop = {"stopwords": r.sample([w for w in words if w], 3)} if r.random() < 0.7 else {}
    s = [r.randint(1, 9)] if r.random() < 0.5 else [1, r.randint(1, 9)]
    return case("StringNormalizer", [strings(r, s, words)], case_change_action=r.choice(["LOWER", "UPPER", "NONE"]),
                is_case_sensitive=r.randint(0, 1), locale="C", fixed={0: [0]}, **stop)
