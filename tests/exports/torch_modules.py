"""Modules as people write them: recurrent layers, attention with masks, losses, signals, indices, control flow. Part of
torch_exports.py: `modules()` gives a Model for each.
"""
import torch
import torch.nn.functional as F
from torch import nn

from torch_exports import Model


class One(nn.Module):
    """A function of x as a module."""
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x):
        return self.of(x)


class Two(One):
    def forward(self, x, y):
        return self.of(x, y)


class Three(One):
    def forward(self, x, y, z):
        return self.of(x, y, z)


class Packed(nn.Module):
    """A recurrent layer over sequences of unequal lengths."""
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, y):
        packed = nn.utils.rnn.pack_padded_sequence(x, y, batch_first=True, enforce_sorted=False)
        out, _ = self.layer(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(50, 16), nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, x):
        out, (h, _) = self.lstm(self.embed(x))
        return self.head(out).log_softmax(-1), h


class SelfAttention(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.qkv, self.out, self.fused = nn.Linear(32, 96), nn.Linear(32, 32), fused

    def forward(self, x, y):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mask = y[:, None, None, :]
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = (q @ k.transpose(-2, -1) * 8 ** -0.5).masked_fill(~mask, torch.finfo(q.dtype).min)
            mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, n, 32))


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")

    def forward(self, x):
        n = x.shape[1]
        return self.layer(x, src_mask=torch.full((n, n), float("-inf")).triu(1))


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)

    def forward(self, x, y):
        return self.net(x, y)


class Positions(nn.Module):
    """Rotary positions computed from the length."""
    def forward(self, x):
        n, d = x.shape[1], x.shape[2]
        angles = torch.arange(n)[:, None] / 100 ** (torch.arange(0, d, 2) / d)
        cos, sin, even, odd = angles.cos(), angles.sin(), x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Branch(nn.Module):
    def forward(self, x, y):
        return torch.cond(y.sum() > 0, lambda a: a.relu() + 1, lambda a: a.sigmoid() * 2, (x,))


class ScriptedLoop(nn.Module):
    """The length decides how often, the data when it ends."""
    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for k in range(x.shape[1]):
            state = torch.tanh(state + x[:, k])
            if bool(state.sum() > 100.0):
                state = state * 0.5
        return state


class ScriptedAppend(nn.Module):
    def forward(self, x):
        parts = []
        for k in range(x.shape[0]):
            parts.append(x[k].flip(0) * float(k + 1))
        return torch.stack(parts)


class ScriptedWhile(nn.Module):
    def forward(self, x):
        steps = 0
        while bool(x.abs().max() > 1.0):
            x, steps = x / 2, steps + 1
        return x, torch.tensor(steps)


class Scanned(nn.Module):
    """A cell unrolled over the length that the export sees."""
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 12)
        for k in range(5):
            h = self.cell(x[:, k], h)
        return h


class UNet(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.a, self.b, self.mode = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1), mode
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.a(x).relu()
        b = self.b(a).relu()
        up = self.up(b) if self.mode == "deconv" else F.interpolate(b, size=a.shape[-2:], mode=self.mode)[:, :8]
        return self.head(torch.cat([a, up], 1))


class GridSample(nn.Module):
    def __init__(self, **kind):
        super().__init__()
        self.theta, self.kind = nn.Linear(4, 6), kind

    def forward(self, x):
        theta = self.theta(x.mean((-2, -1))).view(-1, 2, 3)
        return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False, **self.kind)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.var, self.dec = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4), nn.Linear(4, 20)

    def forward(self, x):
        h = F.softplus(self.enc(x))
        mu, var = self.mu(h), self.var(h)
        kl = -0.5 * (1 + var - mu.pow(2) - var.exp()).sum(1).mean()
        return self.dec(mu).sigmoid(), kl


class BoxDecode(nn.Module):
    """What stands behind a detector: boxes, scores, the best of them."""
    def forward(self, x, y):
        xy, wh = x[..., :2], x[..., 2:].exp()
        boxes = torch.cat([xy - wh / 2, xy + wh / 2], -1).clamp(0, 10)
        score, kind = y.softmax(-1).max(-1)
        best, place = score.topk(5, dim=1)
        return boxes.gather(1, place[..., None].expand(-1, -1, 4)), best, kind.gather(1, place)


class Nms(nn.Module):
    def forward(self, x, y):
        import torchvision
        keep = torchvision.ops.nms(torch.cat([x[:, :2], x[:, :2] + x[:, 2:].exp()], 1), y, 0.5)
        return x[keep], keep


class GraphConv(nn.Module):
    """Messages along edges, as in PyTorch Geometric."""
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x, y):
        source, target = y[0], y[1]
        summed = torch.zeros_like(x).index_add(0, target, self.lin(x)[source])
        degree = torch.zeros(x.shape[0]).scatter_add(0, target, torch.ones(y.shape[1]))
        return summed / degree.clamp(min=1)[:, None]


class Spectrogram(nn.Module):
    def forward(self, x):
        spectrum = torch.stft(x, 64, 16, window=torch.hann_window(64), return_complex=False, onesided=True)
        return spectrum.pow(2).sum(-1).add(1e-6).log()


class IndexPut(nn.Module):
    def forward(self, x, y):
        x = x.clone()
        x[:, y] = -1.0
        x[0, 1:3] += 5
        return x


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.GroupNorm(2, 8), nn.InstanceNorm2d(8, affine=True), nn.BatchNorm2d(8),
                                     nn.LocalResponseNorm(3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return F.normalize(x, dim=1)


class Snake(nn.Module):
    """Blocks of a vocoder: weight norm, dilation, transposed convolution."""
    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 7, dilation=3, padding=9))
        self.b = nn.ConvTranspose1d(8, 4, 8, 4, 2)
        self.alpha = nn.Parameter(torch.rand(1, 8, 1) + 0.5)

    def forward(self, x):
        x = self.a(x)
        return self.b(x + (self.alpha * x).sin().pow(2) / self.alpha).tanh()


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 16) / 4)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2, -1)
        return torch.einsum("bk,bki->bi", weight / weight.sum(-1, keepdim=True),
                            torch.einsum("bj,bkji->bki", x, self.experts[chosen]))


def activations(x):
    return torch.cat([f(x) for f in (F.elu, F.selu, F.celu, F.gelu, F.mish, F.silu, F.hardswish, F.hardsigmoid, F.softsign,
                                     F.logsigmoid, F.tanhshrink, F.hardshrink, F.softshrink, F.relu6, F.leaky_relu,
                                     lambda v: F.gelu(v, approximate="tanh"), lambda v: F.glu(v, -1))], -1)


def pools(x):
    return torch.cat([v.flatten(1) for v in (
        F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        F.adaptive_avg_pool2d(x, (4, 7)), F.adaptive_max_pool2d(x, 1), F.lp_pool2d(x, 2, 2))], 1)


def resizes(x):
    return (F.interpolate(x, scale_factor=2, mode="nearest"), F.interpolate(x, size=(7, 9), mode="bilinear"),
            F.interpolate(x, scale_factor=0.5, mode="bicubic", align_corners=True))


def statistics(x):
    return (x.mean((1, 2)), x.var(-1), x.std(0, unbiased=False), x.norm(dim=-1), x.prod(-1), x.logsumexp(1), x.amax((0, 2)),
            x.argmin(1), x.cumsum(1), (x > 0).any(-1), (x > -9).all(0))


def slices(x):
    return (x[:, 1:-1, ::2], x[..., -3:], x[:, [2, 0, 1]], x[:, None, 1:, :], x.flip(1), x.roll(2, 1), x.narrow(2, 1, 3),
            x.unfold(1, 3, 2), x.select(1, -1), *x.chunk(2, -1), *x.split([3, 5], -1), x[x.shape[0] - 1])


def shapes(x):
    b, n, d = x.shape
    return (x.reshape(b * n, d), x.view(b, -1), x.flatten(1).unflatten(1, (n, 2, -1)), x.repeat(1, 2, 1),
            x.unsqueeze(1).expand(b, 3, n, d), x.transpose(0, 1).contiguous().view(n, -1), x.repeat_interleave(2, 1),
            F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (1, 1), mode="reflect"), F.pad(x, (2, 1), mode="circular"),
            torch.tile(x, (2, 1, 1)), torch.tril(x), torch.diagonal(x, dim1=1, dim2=2))


def numbers(x):
    y = (x * 4).to(torch.int32)
    return (y // 3, y % 3, torch.remainder(x, 0.7), torch.fmod(x, 0.7), x.round(), x.sign(), x.floor_divide(0.3),
            torch.where(x > 0, x, -x.exp()), x.clamp(-0.5), x.nan_to_num(), torch.isnan(x / 0 * 0), x.atan2(x + 1), x.erf(), x.expm1(),
            x.log1p(), x.rsqrt().nan_to_num(1.0), torch.bitwise_and(y, 5), y << 2, x.double().exp().float(), x.addcmul(x, x, value=0.5))


def losses(x, y):
    return (F.cross_entropy(x, y), F.cross_entropy(x, y, reduction="none"), F.nll_loss(x.log_softmax(1), y),
            F.mse_loss(x.softmax(1), F.one_hot(y, 6).float()),
            F.binary_cross_entropy_with_logits(x, F.one_hot(y, 6).float()), F.kl_div(x.log_softmax(1), x.flip(1).softmax(1), reduction="sum"),
            F.cosine_similarity(x, x.flip(1)))


def newer(x, y):
    """What the older exporter does not know."""
    return (F.cross_entropy(x, y, label_smoothing=0.1), F.smooth_l1_loss(x[:, 0], x[:, 1]), F.triplet_margin_loss(x, x + 0.1, x.flip(0)),
            x.trunc(), x.frac(), x.sinh(), x.diff(dim=1), torch.take_along_dim(x, y[:, None], 1), x.hypot(x + 1), x.logaddexp(x * 2),
            x.isclose(x), torch.linspace(0, 1, 5) * x[:, :1], torch.tensordot(x, x, dims=([1], [1])), x.heaviside(x[:, :1]))


def enlarge(x):
    return (F.interpolate(x, size=(5, 5), mode="bilinear", antialias=True), F.channel_shuffle(x, 2), F.interpolate(x, size=(11, 3), mode="nearest-exact"),
            F.interpolate(x, scale_factor=1.7, mode="bilinear"), F.interpolate(x, size=(20, 13), mode="bicubic"))


def picks(x, y):
    return (x.index_select(1, y[0]), x.gather(1, y), x.scatter(1, y, 9.0), x.scatter_add(1, y, x),
            x.scatter_reduce(1, y, x, "amax"), x[torch.arange(x.shape[0]), y[:, 0]], F.embedding(y, x.T), F.one_hot(y, 8),
            torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])))


SIZES = [{"b": 2, "n": 6, "h": 16, "w": 12, "e": 10}, {"b": 3, "n": 9, "h": 20, "w": 24, "e": 7}]
VALUES = {
    "float": torch.randn, "half": lambda shape: torch.randn(shape).half(), "bool": lambda shape: torch.rand(shape) > 0.3,
    "int": lambda shape: torch.randint(0, 6, shape), "word": lambda shape: torch.randint(0, 50, shape),
    "lengths": lambda shape: torch.randint(1, 6, shape), "starts": lambda shape: torch.arange(shape[0]) * 3,
}


def many(module, inputs, scripted=False, only=None):
    """inputs: name: (shape, what values); letters of a shape are sizes that may be open."""
    axes = {name: {k: s for k, s in enumerate(shape) if isinstance(s, str)} for name, (shape, _) in inputs.items()}
    used = {s for a in axes.values() for s in a.values()}

    def make_inputs(**dims):
        return {name: VALUES[kind]([dims.get(s, s) for s in shape]) for name, (shape, kind) in inputs.items()}
    return Model((lambda: torch.jit.script(module)) if scripted else (lambda: module), make_inputs,
                 [{k: v for k, v in sizes.items() if k in used} for sizes in SIZES], axes, only="ts" if scripted else only, opset=20)


def one(f, *shape, kind="float", scripted=False, only=None):
    return many(f if scripted else One(f), {"x": (shape, kind)}, scripted, only)


def modules():
    """(name, Model)"""
    f, seq = "float", ("b", "n", 16)
    torch.manual_seed(1)
    torch.backends.mha.set_fastpath_enabled(False)      # it has an operator of its own that no exporter knows
    image, pair = ("b", 4, "h", "w"), {"x": (("b", "n", 32), f), "y": (("b", "n"), "bool")}
    found = {
        "lstm": one(nn.LSTM(16, 12, batch_first=True), *seq), "lstm_proj": one(nn.LSTM(16, 12, proj_size=5), *seq),
        "gru": one(nn.GRU(16, 12, 2, batch_first=True, bidirectional=True), *seq),
        "rnn_relu": one(nn.RNN(16, 12, nonlinearity="relu"), *seq), "tagger": one(Tagger(), "b", "n", kind="word"),
        "lstm_packed": many(Packed(nn.LSTM(16, 12, batch_first=True, bidirectional=True)), {"x": (("b", "n", 16), f), "y": (("b",), "lengths")}),
        "gru_packed": many(Packed(nn.GRU(16, 12, batch_first=True)), {"x": (("b", "n", 16), f), "y": (("b",), "lengths")}),
        "lstm_cell": one(Scanned(nn.GRUCell(16, 12)), "b", 5, 16),
        "attention_masked": many(SelfAttention(False), pair), "attention_fused": many(SelfAttention(True), pair),
        "multihead": many(Three(nn.MultiheadAttention(32, 4, batch_first=True)),
                          {"x": (("b", "n", 32), f), "y": (("b", "h", 32), f), "z": (("b", "h", 32), f)}),
        "transformer_causal": one(Causal().eval(), "b", "n", 32),
        "transformer_seq2seq": many(Seq2Seq().eval(), {"x": (("b", "n", 32), f), "y": (("b", "h", 32), f)}),
        "rotary": one(Positions(), "b", "n", 16), "cond": many(Branch(), {"x": (seq, f), "y": (("n",), f)}),
        "loop_script": one(ScriptedLoop(), *seq, scripted=True), "append_script": one(ScriptedAppend(), "b", "n", 4, scripted=True),
        "while_script": one(ScriptedWhile(), *seq, scripted=True),
        "unet_deconv": one(UNet("deconv"), "b", 3, "h", "w"), "unet_nearest": one(UNet("nearest"), "b", 3, "h", "w"),
        "unet_bilinear": one(UNet("bilinear"), "b", 3, "h", "w"),
        "grid_bilinear": one(GridSample(), *image), "grid_nearest": one(GridSample(mode="nearest", padding_mode="border"), *image),
        "grid_reflect": one(GridSample(mode="bicubic", padding_mode="reflection"), *image),
        "vae": one(Vae(), "b", 20), "box_decode": many(BoxDecode(), {"x": (("b", "n", 4), f), "y": (("b", "n", 7), f)}),
        "nms": many(Nms(), {"x": (("e", 4), f), "y": (("e",), f)}),
        "graph_conv": many(GraphConv(), {"x": (("n", 8), f), "y": ((2, "e"), "int")}),
        "stft": one(Spectrogram(), "b", 256), "index_put": many(IndexPut(), {"x": (("b", "n", 4), f), "y": ((3,), "int")}),
        "norms": one(Norms().eval(), "b", 8, "h", "w"), "vocoder": one(Snake(), "b", 4, "h"), "moe": one(MoE(), "b", 16),
        "fft": one(lambda x: torch.view_as_real(torch.fft.rfft(x)), "b", 32),
        "fft_filter": one(lambda x: torch.fft.irfft(torch.fft.rfft(x) * 0.5), "b", 32),
        "activations": one(activations, "b", 8), "pools": one(pools, "b", 4, 16, 14), "resizes": one(resizes, "b", 3, 10, 8),
        "statistics": one(statistics, "b", "n", 5), "slices": one(slices, "b", "n", 8), "shapes": one(shapes, "b", "n", 8),
        "numbers": one(numbers, "b", "n"), "losses": many(Two(losses), {"x": (("b", 6), f), "y": (("b",), "int")}),
        "newer": many(Two(newer), {"x": (("b", 6), f), "y": (("b",), "int")}, only="dynamo"), "enlarge": one(enlarge, *image, only="dynamo"),
        "picks": many(Two(picks), {"x": (("b", 6), f), "y": (("b", 4), "int")}),
        "einsum": many(Three(lambda x, y, z: torch.einsum("bnd,de,bme->bnm", x, y, z)),
                       {"x": (("b", "n", 4), f), "y": ((4, 5), f), "z": (("b", "h", 5), f)}),
        "unfold": one(lambda x: F.fold(F.unfold(x, 3, padding=1), x.shape[-2:], 3, padding=1), "b", 2, 8, 10),
        "shuffle": one(lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2).repeat(1, 4, 1, 1), 2), *image),
        "sort": one(lambda x: (*x.sort(-1), x.argsort(1, descending=True), *x.topk(3, -1, largest=False)), "b", "n"),
        "unique": one(lambda x: torch.unique(x, sorted=True, return_inverse=True, return_counts=True), "n", kind="int"),
        "nonzero": one(lambda x: (torch.nonzero(x > 0), x[x > 0], (x > 0).sum()), "b", "n"),
        "masked": many(Two(lambda x, y: (x.masked_fill(y, -1e9), x.masked_scatter(y, x.flip(0)), x[y])),
                       {"x": (("b", "n"), f), "y": (("b", "n"), "bool")}),
        "triangle": one(lambda x: torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(1) & (x[:, None] > 0), "b", "n"),
        "linalg": one(lambda x: (x @ x.transpose(-1, -2), torch.linalg.vector_norm(x, dim=(-2, -1)), torch.outer(x[0, 0], x[1, 1]),
                                 torch.bmm(x, x.transpose(-1, -2)), torch.trace(x[0] @ x[0].T), torch.kron(x[0], x[1])), "b", "n", 4),
        "half": one(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).half().eval(), "b", 16, kind="half"),
        "conv_odd": one(nn.Sequential(nn.Conv2d(4, 6, (3, 5), (2, 1), (1, 4), (1, 2), 2), nn.PReLU(6), nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, 2),
                                      nn.ReflectionPad2d(1), nn.Conv2d(4, 4, 3, padding="same", padding_mode="circular")), *image),
        "conv3d": one(nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1)).eval(),
                      "b", 2, 6, 8, 8),
        "embedding_bag": many(Two(nn.EmbeddingBag(20, 8, mode="mean")), {"x": ((12,), "int"), "y": ((3,), "starts")}),
        "deform": many(Three(lambda x, y, z: __import__("torchvision").ops.deform_conv2d(x, y, z, padding=1)),
                       {"x": (("b", 4, 8, 8), f), "y": (("b", 18, 8, 8), f), "z": ((5, 4, 3, 3), f)}),
        "roi_align": many(Two(lambda x, y: __import__("torchvision").ops.roi_align(x, [y.abs() * 4], 3, sampling_ratio=2)),
                          {"x": ((1, 4, 16, 16), f), "y": (("e", 4), f)}),
        "complex": one(lambda x: torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones(4), torch.arange(4.0))), "b", "n", 4, 2),
    }
    yield from found.items()
