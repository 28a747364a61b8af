"""Random cases of the operators of com.microsoft for mixtures of experts, tokens and gates (ms_cases.py)."""
import numpy as np

from ms_cases import Case, SIZES, cases, f32, maybe, packed


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


# ---- mixtures
def activation(name, v):
    if name == "gelu":
        return 0.5 * v * (1 + np.tanh(0.7978845608028654 * (v + 0.044715 * v ** 3)))
    return {"relu": lambda: np.maximum(v, 0), "silu": lambda: v * sigmoid(v), "identity": lambda: v}[name]()


def swiglu(g, l, more):
    limit = more.get("swiglu_limit", np.inf)
    g, l = np.minimum(g, limit), np.clip(l, -limit, limit)
    return g * sigmoid(more.get("activation_alpha", 1) * g) * (l + more.get("activation_beta", 0))


def mixture(x, router, layers, more, softmax_first, weights=None):
    """By the formulas of the schema. layers: (weights, bias or None) of fc1, fc2 and fc3."""
    x, out = x.astype(np.float64), np.zeros(x.shape)
    share = np.exp(router - router.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    for t in range(len(x)):
        best = np.lexsort((-np.arange(router.shape[1]), -router[t]))[:more["k"]]     # among equals the last
        part = share[t, best] if weights is None else weights[t, best]
        if not softmax_first and weights is None or more.get("normalize_routing_weights"):
            part = part / part.sum()
        for e, p in zip(best, part):
            def layer(k, v):
                w, b = layers[k]
                return w[e] @ v + (0 if b is None else b[e])
            h = layer(0, x[t])
            fusion, third = more.get("swiglu_fusion", 0), layers[2][0] is not None
            if fusion:
                g, l = (h[::2], h[1::2]) if fusion == 1 else np.split(h, 2)
                h = swiglu(g, l, more)
            elif more["activation_type"] == "swiglu":
                h = swiglu(h, layer(2, x[t]), more)
            else:
                h = activation(more["activation_type"], h) * (layer(2, x[t]) if third else 1)
            out[t] += p * layer(1, h)
    return out.astype(np.float32)


def drawn(r, n):
    """Sizes, and what attributes say of routing and activation."""
    tokens, experts, size, inner = r.choice([1, 3, 7]), r.choice([2, 4, 5]), r.choice([16, 32]), r.choice([16, 32])
    more = {"k": r.randint(1, 2), "normalize_routing_weights": r.randrange(2),
            "activation_type": r.choice(["relu", "gelu", "silu", "identity", "swiglu", "swiglu"])}
    if more["activation_type"] == "swiglu":
        more.update(swiglu_fusion=r.choice([0, 1, 1, 2]), activation_alpha=1.702, activation_beta=1.0)
        if r.random() < 0.4:
            more["swiglu_limit"] = 0.5
    third = more["activation_type"] == "swiglu" and not more.get("swiglu_fusion")
    rows = [inner * (2 if more.get("swiglu_fusion") else 1), size, inner]
    x = f32(n, tokens, size)
    return tokens, experts, size, inner, more, third, rows, x


def routing(r, n, tokens, experts):
    """Some with many equal numbers."""
    return n.integers(0, 2, (tokens, experts)).astype(np.float32) if r.random() < 0.4 else f32(n, tokens, experts)


def in_batches(r, x):
    return x.reshape(1, *x.shape) if r.random() < 0.3 else x


@cases("MoE")
def moe(r, n):
    tokens, experts, size, inner, more, third, rows, x = drawn(r, n)
    third = third or (not more.get("swiglu_fusion") and r.random() < 0.2)
    router = routing(r, n, tokens, experts)
    w = [f32(n, experts, rows[k], (size, inner, size)[k]) * np.float32(0.3) for k in range(3)]
    b = [maybe(r, f32(n, experts, rows[k])) for k in range(3)]
    if not third:
        w[2] = b[2] = None
    want = mixture(x, router, list(zip(w, b)), more, True)
    # ONNX Runtime's CPU kernel is asked where it has these; it takes the experts of one product in pairs only.
    asked = not third and more.get("swiglu_fusion", 1) == 1
    given = in_batches(r, x)
    return Case("MoE", [given, router, w[0], b[0], w[1], b[1], w[2], b[2]],
                expected=None if asked else [want.reshape(given.shape)], tolerance=1e-4, **more)


@cases("QMoE")
def qmoe(r, n):
    tokens, experts, size, inner, more, third, rows, x = drawn(r, n)
    bits, block = r.choice([4, 8]), r.choice([0, 16, 32])
    block = 0 if block > min(size, inner) else block
    router = routing(r, n, tokens, experts)
    weights = maybe(r, sigmoid(f32(n, tokens, experts)).astype(np.float32), 0.3)
    ins, layers = [], []
    zeros = r.random() < 0.5
    for k in range(3 if third else 2):
        columns = (size, inner, size)[k]
        q = n.integers(0, 1 << bits, (experts, rows[k], columns))
        blocks = columns // block if block else 1
        scale = (n.uniform(0.01, 0.05, (experts, rows[k], blocks))).astype(np.float32)
        z = n.integers(0, 1 << bits, (experts, rows[k], blocks)) if zeros else np.full((experts, rows[k], blocks), 1 << bits - 1)
        real = (q - np.repeat(z, columns // blocks, 2)) * np.repeat(scale, columns // blocks, 2).astype(np.float64)
        bias = maybe(r, f32(n, experts, rows[k]))
        layers.append((real, bias))
        ins.append((packed(q, bits), scale if block else scale[..., 0], bias,
                    None if not zeros else packed(z if block else z[..., 0], bits)))
    while len(layers) < 3:
        layers.append((None, None))
        ins.append((None,) * 4)
    if block:
        more["block_size"] = block
    want = mixture(x, router, layers, more, False, weights)
    given = in_batches(r, x)
    order = [given, router] + [v for layer in ins for v in layer[:3]] + [layer[3] for layer in ins] + [weights]
    asked = not third and more.get("swiglu_fusion", 1) == 1 and (not block or bits == 4)    # 8 bits: it quantises tokens
    return Case("QMoE", order, constant=(2, 3, 5, 6, 8, 9, 11, 12, 13), tolerance=1e-4, must_run=False,
                expected=None if asked else [want.reshape(given.shape)],
                expert_weight_bits=bits, **more)


# ---- tokens
@cases("NGramRepeatBlock")
def ngram_repeat(r, n):
    batch, length, size = r.choice([1, 3]), r.choice([1, 2, 5, 9]), r.choice([4, 9])
    return Case("NGramRepeatBlock", [n.integers(0, r.choice([2, size]), (batch, length)), f32(n, batch, size)],
                ngram_size=r.choice([1, 2, 3]))


@cases("WordConvEmbedding")
def word_conv(r, n):
    words, width, size, filters = r.choice([1, 4]), r.choice([1, 2, 3]), r.choice([1, 4]), r.choice(SIZES)
    length = width + r.choice([0, 1, 4])
    letters = np.zeros((words, length), np.int32)
    for row in letters:
        k = r.randint(1, length)
        row[:k] = n.integers(1, 6, k)
    more = {"conv_window_size": width, "char_embedding_size": size} if r.random() < 0.5 else {}
    return Case("WordConvEmbedding", [letters, f32(n, filters, 1, width, size), f32(n, filters), f32(n, 6, size)], **more)


# ---- gates
@cases("GatedRelativePositionBias")
def gated_bias(r, n):
    batch, heads, length, size, d = r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 4]), r.choice([2, 8]), r.choice([2, 8])
    x, bias, rel = f32(n, batch, length, heads * size), f32(n, heads * size), f32(n, 1, heads, length, length)
    w, b, eco = f32(n, size, d), f32(n, d), f32(n, 1, heads, 1, 1)
    q = (x + bias).reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
    gate = sigmoid((q @ w + b).reshape(batch, heads, length, 2, d // 2).sum(-1))
    u, reset = gate[..., :1], gate[..., 1:]
    return Case("GatedRelativePositionBias", [x, bias, rel, w, b, eco], num_heads=heads,
                expected=[((u * (reset * eco - 1) + 2) * rel).astype(np.float32)], fixed={3: (1,)})


@cases("GatedRMSNorm")
def gated_norm(r, n):
    size, groups = r.choice([4, 7, 16]), r.choice([1, 1, 3])
    x = f32(n, r.choice([1, 3]), r.choice([1, 4]), size * groups)
    t = np.float16 if r.random() < 0.2 else np.float32
    return Case("GatedRMSNorm", [x.astype(t), f32(n, size).astype(t), f32(n, *x.shape).astype(t)],
                activation=r.choice(["silu", "swish", "sigmoid"]), epsilon=1e-3, must_run=False)


@cases("ScaledSiLU")
def scaled_silu(r, n):
    t = np.float16 if r.random() < 0.3 else np.float32
    return Case("ScaledSiLU", [f32(n, r.choice(SIZES), 5).astype(t), maybe(r, np.float32(0.7), 0.5)], alpha=1.3, must_run=False)


@cases("GemmaRotaryEmbedding")
def gemma_rotary(r, n):
    batch, heads, length, size = r.choice([1, 2]), r.choice([1, 3]), r.choice([1, 5]), 8
    angle, (q, qr, k, kr) = f32(n, batch, length, size), (f32(n, batch, heads, length, size).astype(np.float16) for _ in range(4))
    sin, cos = (v(angle).astype(np.float16).astype(np.float64)[:, None] for v in (np.sin, np.cos))
    want = [(a.astype(np.float64) * cos + b.astype(np.float64) * sin).astype(np.float16) for a, b in ((q, qr), (k, kr))]
    return Case("GemmaRotaryEmbedding", [angle, q, qr, k, kr], outputs=2, expected=want)
