"""ONNX's reference implementation as a judge of sums of products: it says what a model gives where ONNX Runtime is wrong.
Its own sums in f32 lose units beyond 2^24, and it adds zero points before it rounds, which moves ties; QuantizeLinear, in
whose words the quantised operators are defined, rounds first. Its norm of p = 1 sums the values without making them absolute.
"""
import warnings

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_conv import Conv, _conv_implementation
from onnx.reference.ops.op_conv_transpose import ConvTranspose
from onnx.reference.ops.op_gemm import Gemm_7
from onnx.reference.ops.op_lp_normalization import LpNormalization
from onnx.reference.ops.op_matmul import MatMul
from onnx.reference.ops.op_qlinear_conv import QLinearConv
from onnx.reference.ops.op_qlinear_matmul import QLinearMatMul


def in_double(op):
    """The operator with its sums in f64."""
    def run(self, *ins, **attributes):
        wide = [x.astype(np.float64) if x is not None and x.dtype == np.float32 else x for x in ins]
        return tuple(y.astype(ins[0].dtype) for y in op._run(self, *wide, **attributes))
    return type(op.__name__.split("_")[0], (op,), {"_run": run, "op_domain": ""})


def centered(x, zero, axis):
    """x less its zero point, one for each place along the axis or one for all, in f64."""
    zero = np.float64(0) if zero is None else zero.astype(np.float64)
    return x.astype(np.float64) - (along(zero, x.ndim, axis) if zero.size > 1 else zero.reshape(()))


def along(v, rank, axis):
    return v.reshape([-1 if k == axis % rank else 1 for k in range(rank)]) if v.ndim == 1 and v.size > 1 else v


def quantised(sums, scale, zero):
    ends = np.iinfo(zero.dtype)
    return (np.clip(np.rint(sums * scale) + zero, ends.min, ends.max).astype(zero.dtype),)


class ExactConv(QLinearConv):
    def _run(self, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None, **_):
        bias = None if bias is None else bias.astype(np.float64)
        sums = _conv_implementation(centered(x, x_zero, 1), centered(w, w_zero, 0), bias, self.auto_pad, self.dilations, self.group,
                                    self.kernel_shape, self.pads, self.strides)
        return quantised(sums, along(x_scale * w_scale / y_scale, x.ndim, 1), y_zero)


class ExactMatMul(QLinearMatMul):
    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        sums = np.matmul(centered(a, a_zero, -2), centered(b, b_zero, -1))
        return quantised(sums, a_scale * along(b_scale, b.ndim, -1) / y_scale, y_zero)


class ExactLp(LpNormalization):
    def _run(self, x, **attributes):
        return (np.copysign(super()._run(np.abs(x), **attributes)[0], x),)


OPERATORS = [in_double(op) for op in (Conv, ConvTranspose, Gemm_7, MatMul)] + \
    [type(op.__base__.__name__, (op,), {"op_domain": ""}) for op in (ExactConv, ExactLp, ExactMatMul)]


def run(model, data):
    newer = ModelProto()
    newer.CopyFrom(model)
    newer.opset_import[0].version = max(19, newer.opset_import[0].version)      # the oldest one of which it has all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of sums that wrap
        return ReferenceEvaluator(newer, new_ops=OPERATORS).run(None, data)
