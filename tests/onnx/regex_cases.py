"""Random patterns for RegexFullMatch and Tokenizer, each with texts that it matches or nearly matches, for ms_ops.py."""
import numpy as np
from ms_cases import Case, cases

CHARS = "aabbcABKkSsſ\u212a019_- .,\n\tßäÄµμσςΣ日я🙂İı\u01c5"
CLASSES = {r"\d": "0189", r"\D": "ax日", r"\w": "aZ0_", r"\W": " .ä", r"\s": " \t\n", r"\S": "aß.", r"\pL": "aßя日", r"\PL": "0 .",
           r"\p{Lu}": "ABΣÄ", r"\p{^Lu}": "ab1", r"\p{Greek}": "σςΣ", r"\p{Nd}": "01९", r"\pN": "0²", ".": "ab日", r"\p{Any}": "a\n",
           "[[:alpha:]]": "abZ", "[^[:alpha:]]": "0ä", "[[:^digit:]]": "ab", r"[\d\pL]": "0я", "[^a-c]": "dz\n", "[]a]": "]a",
           "[a-c-]": "abc-", r"[\x{61}-\x7a]": "az", r"[\--0]": "-./0", "[^\\n]": "ab", "[[:word:]]": "_a0", "[k-s]": "ksKſ"}
EDGES = ["^", "$", r"\A", r"\z", r"\b", r"\B", "(?m:^)", "(?m:$)", "()", "(?:)"]
SPECIAL = set("\\.+*?()|[]{}^$")


def quoted(r, c):
    if c in SPECIAL or r.random() < 0.05 and c in "-_.,":
        return "\\" + c
    if r.random() < 0.05:
        return f"\\x{{{ord(c):x}}}"
    return {"\n": r"\n", "\t": "\\t"}.get(c, c)


def one(r, depth):
    """(pattern, a text that it may match)"""
    kind = r.random()
    if depth <= 0 or kind < 0.4:
        if r.random() < 0.4:
            p = r.choice(list(CLASSES))
            return p, r.choice(CLASSES[p])
        c = r.choice(CHARS)
        return quoted(r, c), c
    if kind < 0.47:
        return r.choice(EDGES), ""
    if kind < 0.6:
        parts = [many(r, depth - 1) for _ in range(r.randint(2, 3))]
        return "(?:" + "|".join(p for p, _ in parts) + ")", r.choice(parts)[1]
    if kind < 0.7:
        p, t = many(r, depth - 1)
        flags = r.choice(["i", "s", "is", "m", "-s", "-i", "im-s", "U"])
        return f"(?{flags}:{p})", t.swapcase() if "i" in flags and "-i" not in flags and r.random() < 0.5 else t
    if kind < 0.8:
        p, t = many(r, depth - 1)
        return r.choice(["(", "(?P<n%d>" % r.randrange(10 ** 9), "(?:"]) + p + ")", t
    p, t = many(r, depth - 1)
    least, most = r.choice([(0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None), (0, 0), (0, 5)])
    times = r.randint(least, least + 2 if most is None else most)
    suffix = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    suffix = suffix or ("{%d}" % least if least == most else "{%d,%s}" % (least, "" if most is None else most))
    return f"(?:{p}){suffix}" + r.choice(["", "", "?"]), t * times


def many(r, depth):
    parts = [one(r, depth) for _ in range(r.randint(0 if r.random() < 0.1 else 1, 4))]
    return "".join(p for p, _ in parts), "".join(t for _, t in parts)


@cases("RegexFullMatch")
def match(r, n):
    p, t = many(r, 3)
    texts = ["", t] + [many(r, 2)[1] for _ in range(6)]
    for _ in range(24):         # near misses
        k, s = r.randint(0, len(t)), list(t)
        s[k:k + r.randint(0, 2)] = r.choice(["", r.choice(CHARS), r.choice(CHARS) * 2, t[:3], t[k:k + 3]])
        texts.append("".join(s))
    if r.random() < 0.2:
        p = r.choice(["(?i)", "(?s)", "(?m)", "(?is)"]) + p
    if r.random() < 0.25:       # too many states for a table
        p = f"(?:{p}|[xy]*x[xy]{{13}})"
        texts += ["y" * r.randint(0, 9) + "x" + r.choice(["xy" * 6 + "x", "y" * 13, "y" * 12]) for _ in range(4)]
    shape = [len(texts)] if r.random() < 0.5 else [2, len(texts) // 2]
    return Case("RegexFullMatch", [np.array(texts[:int(np.prod(shape))], object).reshape(shape)], domain="", must_run=False,
                pattern=p)


@cases("Tokenizer")
def tokens(r, n):
    p, t = many(r, 2)
    pieces = [t, *(many(r, 2)[1] for _ in range(3)), "", " ", r.choice(CHARS), "a", "ab"]
    texts = ["".join(r.choice(pieces) for _ in range(r.randint(0, 6))) for _ in range(8)]
    by = {"separators": [""]} if r.random() < 0.15 else {"tokenexp": p or "."}
    shape = r.choice([(8,), (2, 4), (1, 1)])
    return Case("Tokenizer", [np.array(texts[:int(np.prod(shape))], object).reshape(shape)], must_run=False, mark=r.randrange(2),
                mincharnum=1 if "separators" in by else r.choice([1, 1, 2, 3]), pad_value=r.choice(["#", "", "pad"]), **by)
