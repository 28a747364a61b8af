#!/usr/bin/env python3
"""Keras layers and models as people write them, exported by tf2onnx with fixed and open sizes, compared with ONNX Runtime
(judge.py). One line for each: tf2onnx-SIZES/NAME. Nothing of this runs in CI. TensorFlow wants a place of its own:

    python3 -m venv DIR && DIR/bin/pip install tensorflow-cpu tf2onnx onnx onnxruntime
    DIR/bin/python tests/exports/tf_exports.py --keep EXPORTS --results EXPORTS/tf.json
"""
import os
import sys

from judge import main

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy as np
    import tensorflow as tf
    import tf2onnx
    from tensorflow import keras
except ImportError as e:
    print(f"SKIPPED: {e} (see the head of this file)")
    sys.exit(77)

L = keras.layers


def stack(*layers):
    return lambda: keras.Sequential(list(layers))


def residual():
    x = keras.Input((16, 16, 3))
    y = L.Conv2D(8, 3, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    z = L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(y))
    y = L.Add()([y, z])
    return keras.Model(x, L.Dense(5, activation="softmax")(L.GlobalAveragePooling2D()(y)))


def squeeze_excite():
    x = keras.Input((16, 16, 8))
    s = L.GlobalAveragePooling2D(keepdims=True)(x)
    s = L.Conv2D(8, 1, activation="sigmoid")(L.Conv2D(2, 1, activation="swish")(s))
    y = L.DepthwiseConv2D(3, padding="same")(L.Multiply()([x, s]))
    return keras.Model(x, L.Concatenate()([y, L.UpSampling2D(2)(L.AveragePooling2D(2)(y))]))


def unet():
    x = keras.Input((16, 24, 3))
    a = L.Conv2D(6, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(12, 3, strides=2, padding="same", activation="relu")(a)
    up = L.Conv2DTranspose(6, 3, strides=2, padding="same")(b)
    return keras.Model(x, L.Conv2D(2, 1)(L.Concatenate()([a, up])))


def attention():
    x = keras.Input((9, 16))
    y = L.LayerNormalization()(x + L.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True))
    return keras.Model(x, y + L.Dense(16)(L.Dense(32, activation="gelu")(y)))


def masked_lstm():
    x = keras.Input((None,), dtype="int32")
    y = L.Bidirectional(L.LSTM(8))(L.Embedding(30, 8, mask_zero=True)(x))
    return keras.Model(x, L.Dense(3)(y))


def encoder_decoder():
    x = keras.Input((6, 4))
    y = L.RepeatVector(5)(L.GRU(8)(x))
    return keras.Model(x, L.TimeDistributed(L.Dense(2))(L.GRU(8, return_sequences=True)(y)))


def application(name, **more):
    return lambda: getattr(keras.applications, name)(weights=None, input_shape=(64, 64, 3), classes=10, **more)


def function(f, *specs):
    """A tf.function on tensors of these shapes."""
    return tf.function(f, input_signature=[tf.TensorSpec(s, t, name=f"x{k}") for k, (s, t) in enumerate(specs)])


def counted(x):
    total = tf.zeros_like(x[0])
    for row in x:
        if tf.reduce_sum(row) > 0:
            total += row
        else:
            total -= row * 0.5
    return total


def halved(x):
    return tf.while_loop(lambda v, k: tf.reduce_max(tf.abs(v)) > 0.5, lambda v, k: (v / 2, k + 1), (x, 0))


# Name: (model, shape of its inputs without the batch, type, words: values are below this)
KERAS = {
    "mlp": (stack(L.Dense(16, activation="relu"), L.Dropout(0.2), L.BatchNormalization(), L.Dense(4, activation="softmax")), (12,)),
    "residual": (residual, (16, 16, 3)), "squeeze_excite": (squeeze_excite, (16, 16, 8)), "unet": (unet, (16, 24, 3)),
    "separable": (stack(L.SeparableConv2D(8, 3, padding="same"), L.LeakyReLU(), L.MaxPool2D(3, 2, padding="same"), L.Flatten()), (15, 13, 4)),
    "dilated": (stack(L.Conv2D(8, 3, dilation_rate=2), L.PReLU(), L.ZeroPadding2D((1, 2)), L.Cropping2D(1)), (16, 16, 4)),
    "conv1d": (stack(L.Conv1D(8, 5, padding="causal", dilation_rate=2), L.ELU(), L.MaxPool1D(2), L.GlobalMaxPool1D()), (20, 4)),
    "conv3d": (stack(L.Conv3D(4, 3, padding="same"), L.AveragePooling3D(2), L.Flatten()), (6, 8, 8, 2)),
    "deconv1d": (stack(L.Conv1DTranspose(4, 4, 2, padding="same"),), (10, 6)),
    "bilinear": (stack(L.UpSampling2D(2, interpolation="bilinear"), L.Conv2D(2, 3), L.Resizing(20, 20)), (8, 8, 3)),
    "lstm": (stack(L.LSTM(8, return_sequences=True), L.LSTM(6)), (9, 5)), "gru": (stack(L.GRU(8, return_sequences=True), L.GRU(6)), (9, 5)),
    "gru_v1": (stack(L.GRU(8, reset_after=False, return_sequences=True)), (9, 5)), "rnn": (stack(L.SimpleRNN(8)), (9, 5)),
    "bidirectional": (stack(L.Bidirectional(L.LSTM(8, return_sequences=True)), L.Bidirectional(L.GRU(4))), (9, 5)),
    "lstm_backwards": (stack(L.LSTM(8, go_backwards=True, return_sequences=True)), (9, 5)),
    "lstm_hard": (stack(L.LSTM(8, recurrent_activation="hard_sigmoid", activation="relu")), (9, 5)),
    "lstm_unrolled": (stack(L.LSTM(8, unroll=True)), (5, 5)), "conv_lstm": (stack(L.ConvLSTM2D(4, 3, padding="same")), (4, 8, 8, 2)),
    "masked_lstm": (masked_lstm, (7,), np.int32, 30), "encoder_decoder": (encoder_decoder, (6, 4)),
    "time_cnn": (stack(L.TimeDistributed(L.Conv2D(4, 3)), L.TimeDistributed(L.Flatten()), L.LSTM(6)), (4, 8, 8, 1)),
    "attention": (attention, (9, 16)), "norms": (stack(L.GroupNormalization(2), L.LayerNormalization(), L.UnitNormalization()), (6, 8)),
    "embedding_pool": (stack(L.Embedding(30, 8), L.GlobalAveragePooling1D(), L.Dense(2)), (7,), np.int32, 30),
    "einsum": (stack(L.EinsumDense("abc,cde->abde", (None, 2, 4), bias_axes="de"), L.Permute((2, 1, 3)), L.Reshape((2, -1))), (5, 6)),
    "mobilenet": (application("MobileNet", alpha=0.25), (64, 64, 3)), "mobilenet_v2": (application("MobileNetV2", alpha=0.35), (64, 64, 3)),
    "mobilenet_v3": (application("MobileNetV3Small", alpha=0.75), (64, 64, 3)),
    "efficientnet_b0": (application("EfficientNetB0"), (64, 64, 3)), "densenet121": (application("DenseNet121"), (64, 64, 3)),
    "nasnet": (application("NASNetMobile"), (64, 64, 3)),
}
FUNCTIONS = {
    "loop_rows": (function(counted, ((None, 4), tf.float32)), [(5, 4)], [(8, 4)]),
    "while": (function(halved, ((None, 4), tf.float32)), [(5, 4)], [(8, 4)]),
    "image": (function(lambda x: tf.image.crop_and_resize(tf.image.resize(x, (12, 12)), [[0.1, 0.1, 0.8, 0.9]], [0], (5, 5)),
                       ((None, 9, 9, 3), tf.float32)), [(2, 9, 9, 3)], [(3, 9, 9, 3)]),
    "topk": (function(lambda x: (*tf.math.top_k(x, 3), tf.argsort(x), tf.cumsum(x, 1), tf.reverse(x, [1]), tf.where(x > 0)),
                      ((None, 8), tf.float32)), [(2, 8)], [(3, 8)]),
    "segments": (function(lambda x: (tf.one_hot(tf.argmax(x, 1), 8), tf.gather(x, [1, 0], axis=1), tf.boolean_mask(x, x[:, 0] > 0),
                                     tf.scatter_nd([[0], [2]], x[:2], (4, 8)), tf.linalg.band_part(x, 1, 2)), ((None, 8), tf.float32)), [(2, 8)], [(3, 8)]),
    "spectrum": (function(lambda x: tf.abs(tf.signal.rfft(x)), ((None, 32), tf.float32)), [(2, 32)], [(3, 32)]),
    "strided": (function(lambda x: (x[:, ::-1, 1:-1], x[..., tf.newaxis, 2], tf.pad(x, [[0, 0], [1, 2], [0, 1]], "SYMMETRIC"), tf.tile(x, [1, 2, 1]),
                                    tf.space_to_batch(x[..., None], [2, 2], [[0, 0], [0, 0]]), tf.reshape(x, (tf.shape(x)[0], -1))),
                         ((None, 6, 8), tf.float32)), [(2, 6, 8)], [(3, 6, 8)]),
}


def of_keras(make, shape, dtype=np.float32, below=0):
    def export(sizes):
        keras.utils.set_random_seed(0)
        model, random = make(), np.random.default_rng(0)
        batch = None if sizes == "open" else 2
        spec = [tf.TensorSpec((batch, *shape), dtype, name="x")]
        proto, _ = tf2onnx.convert.from_function(tf.function(lambda x: model(x, training=False), input_signature=spec), spec, opset=17)

        def some(n):
            values = random.integers(0, below, (n, *shape)) if below else random.standard_normal((n, *shape))
            return {proto.graph.input[0].name: values.astype(dtype)}
        return proto, [some(n) for n in ((2, 3) if sizes == "open" else (2,))]
    return export


def of_function(f, *shapes):
    def export(_):
        proto, _ = tf2onnx.convert.from_function(f, f.input_signature, opset=17)
        random = np.random.default_rng(0)
        return proto, [{i.name: random.standard_normal(s).astype(np.float32) for i, s in zip(proto.graph.input, of)} for of in shapes]
    return export


def cases():
    for name, spec in KERAS.items():
        for sizes in ("fixed", "open"):
            yield f"tf2onnx-{sizes}/{name}", lambda spec=spec, sizes=sizes: of_keras(*spec)(sizes)
    for name, spec in FUNCTIONS.items():
        yield f"tf2onnx-open/function-{name}", lambda spec=spec: of_function(*spec)("open")


if __name__ == "__main__":
    sys.exit(main(cases(), __doc__, ("tensorflow-cpu", "keras", "tf2onnx", "onnxruntime")))
