"""C as tokens, by a lexer of our own: what a compiler sees of a file, and what it does not.

    lex(text, trigraphs)    [(kind, text)] without comments and white space; the end of a directive is a token, and an
                            array of characters, `(const char[]){'a','b',0}`, a string
    bytes_of(literal)       what a string literal says
"""
import re

from words import C_KEYWORDS

TRIGRAPHS = dict(zip((b"??" + bytes([c]) for c in b"=/'()!<>-"), (bytes([c]) for c in b"#\\^[]|{}~")))
TOKEN = re.compile(rb"""
    (?P<space>[ \t\v\f\r]+|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)
  | (?P<newline>\n)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<array>\(const\ char\[\]\)\{(?:\n?'(?:[^'\\\n]|\\.)+',)+0\})
  | (?P<char>[uUL]?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[A-Za-z0-9_.])*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<punct>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-*/%+&^|<>=!]=|\#\#|[][(){}.&*+~!/%<>^|?:;=,\#-])
""", re.X | re.S)
ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]+|.)", re.S)
CHARACTER = re.compile(rb"'((?:[^'\\\n]|\\.)+)',")
LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Bad(Exception):
    pass


def lex(text, trigraphs=True):
    if trigraphs:
        text = re.sub(rb"\?\?[=/'()!<>-]", lambda m: TRIGRAPHS[m[0]], text)
    text = re.sub(rb"\\[ \t\v\f\r]*\n", b"", text)      # gcc joins lines also across spaces
    out = []
    at, begins, directive = 0, True, False
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise Bad(f"no token: {text[at:at + 40]!r}")
        at = m.end()
        kind = m.lastgroup
        if kind == "space":
            inner = m[0][2:-2] if m[0].startswith(b"/*") else m[0]
            if m[0].strip() and (b"/*" in inner or any(c < 32 and c != 10 or c > 126 for c in inner)):
                raise Bad(f"in a comment: {m[0][:200]!r}")
        elif kind == "newline":
            if directive:
                out.append(("end", b""))
            begins, directive = True, False
        elif kind == "array":
            out.append(("string", b'"' + b"".join(CHARACTER.findall(m[0])) + b'"'))
        else:
            if begins and m[0] == b"#":
                directive = True
            begins = False
            out.append(("keyword" if kind == "name" and m[0] in C_KEYWORDS else kind, m[0]))
    return out


def bytes_of(literal):
    inner = literal[literal.index(b'"') + 1:-1]

    def value(m):
        s = m[1]
        if s[0:1].isdigit():
            return bytes([int(s, 8)])
        return bytes([int(s[1:], 16)]) if s[0:1] == b"x" else LETTERS.get(s, s)
    return ESCAPE.sub(value, inner)
