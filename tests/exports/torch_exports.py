#!/usr/bin/env python3
"""Models of torchvision, timm and transformers, small and with random weights, and modules as people write them, exported
by PyTorch's two exporters (ts: TorchScript, dynamo: torch.export) with fixed and with open sizes, compared with ONNX
Runtime (judge.py). One line for each: EXPORTER-SIZES/LIBRARY-NAME. Nothing of this runs in CI. Packages:

    python3 -m venv DIR && DIR/bin/pip install -r tests/exports/requirements.txt
    DIR/bin/python tests/exports/torch_exports.py --keep EXPORTS --results EXPORTS/torch.json
"""
import dataclasses
import io
import logging
import sys
import warnings

from judge import main

warnings.filterwarnings("ignore")
try:
    import onnx
    import torch
except ImportError as e:
    print(f"SKIPPED: {e} (tests/exports/requirements.txt)")
    sys.exit(77)


@dataclasses.dataclass
class Model:
    make: object            # gives the module
    inputs: object          # of sizes by name: {parameter of forward: tensor}
    sets: list              # sizes by name; the export sees the first, fixed exports have no other
    axes: dict              # {parameter: {axis: size's name}}: what is open in the other exports
    only: str = None        # this exporter
    opset: int = 17         # for the older exporter


def export_ts(module, inputs, axes, opset):
    buffer = io.BytesIO()
    torch.onnx.export(module, (), buffer, kwargs=inputs, dynamo=False, input_names=list(inputs), dynamic_axes=axes,
                      opset_version=opset)
    return onnx.load_from_string(buffer.getvalue())


def export_dynamo(module, inputs, axes, _):
    shapes = {name: dict(axes.get(name, {})) for name in inputs} if axes else None
    return torch.onnx.export(module, (), None, kwargs=inputs, dynamo=True, dynamic_shapes=shapes, verbose=False).model_proto


EXPORTERS = {"ts": export_ts, "dynamo": export_dynamo}


def exported(model, exporter, sizes):
    def export():
        torch.manual_seed(0)
        module = model.make()
        module.eval()
        sets = [model.inputs(**s) for s in (model.sets if sizes == "open" else model.sets[:1])]
        with torch.no_grad():
            proto = EXPORTERS[exporter](module, sets[0], model.axes if sizes == "open" else None, model.opset)
        return proto, [{name: t.detach().numpy() for name, t in inputs.items()} for inputs in sets]
    return export


def image(make, size=64, channels=3, frames=None, sides=True, **more):
    """A model of images, or of films; sides: the height and width are open, too."""
    def inputs(b=2, h=size, w=size):
        shape = (b, channels, h, w) if frames is None else (b, channels, frames, h, w)
        return {"x": torch.rand(shape)}
    last = 3 if frames is None else 4
    axes = {0: "b"} | ({last - 1: "h", last: "w"} if sides else {})
    sets = [{"b": 2, "h": size, "w": size}, {"b": 3, "h": size + 32, "w": size * 2}]
    return Model(make, inputs, [{k: v for k, v in s.items() if k in axes.values()} for s in sets], {"x": axes}, **more)


def named(module, parameter="x"):
    """The module with `x` as its parameter's name, and tensors alone as its results."""
    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, x):
            out = self.inner(x)
            return tuple(out.values()) if isinstance(out, dict) else out
    return Wrapped()


class Detector(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        found = self.inner([x[0]])[0]
        return tuple(found.values())


def torchvision_models():
    """(name, Model)"""
    from torchvision import models as tv
    flat = ("mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "mnasnet0_5", "efficientnet_b0",
            "efficientnet_v2_s", "regnet_x_400mf", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "densenet121", "convnext_tiny")
    for name in flat:
        yield name, image(lambda name=name: named(getattr(tv, name)(num_classes=10)))
    yield "googlenet", image(lambda: named(tv.googlenet(num_classes=10, aux_logits=False, init_weights=False)))
    yield "inception_v3", image(lambda: named(tv.inception_v3(num_classes=10, aux_logits=False, init_weights=False)), 96)
    yield "alexnet", image(lambda: named(tv.alexnet(num_classes=10)))
    small = {"num_layers": 2, "num_heads": 2, "hidden_dim": 32, "mlp_dim": 64}
    yield "vit", image(lambda: named(tv.VisionTransformer(64, 16, num_classes=10, **small)), sides=False)
    swin = {"patch_size": [4, 4], "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4], "num_classes": 10}
    yield "swin", image(lambda: named(tv.SwinTransformer(**swin)))
    yield "swin_v2", image(lambda: named(tv.SwinTransformer(**swin, block=tv.swin_transformer.SwinTransformerBlockV2,
                                                            downsample_layer=tv.swin_transformer.PatchMergingV2)))
    yield "maxvit", image(lambda: named(tv.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)), sides=False)
    for name in ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50"):
        yield name, image(lambda name=name: named(getattr(tv.segmentation, name)(weights=None, weights_backbone=None, num_classes=5)))
    for name in ("ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_320_fpn", "retinanet_resnet50_fpn",
                 "fcos_resnet50_fpn", "maskrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn"):
        more = {} if "320" in name else {"min_size": 96, "max_size": 128}
        detector = image(lambda name=name, more=more: Detector(
            getattr(tv.detection, name)(weights=None, weights_backbone=None, num_classes=2, **more)), 96)
        yield name, dataclasses.replace(detector, axes={"x": {2: "h", 3: "w"}},
                                        sets=[{"b": 1, "h": 96, "w": 96}, {"b": 1, "h": 80, "w": 112}])
    for name in ("r3d_18", "mc3_18", "r2plus1d_18", "s3d"):
        frames = 16 if name == "s3d" else 8
        yield name, image(lambda name=name: named(getattr(tv.video, name)(num_classes=5)), 64, frames=frames, sides=False)
    yield "swin3d", image(lambda: named(tv.video.SwinTransformer3d([2, 4, 4], 16, [2, 2], [2, 4], [4, 4, 4], num_classes=5)), 32,
                          frames=8, sides=False)


# Name, size of the image, more for timm.create_model.
TIMM = (
    ("resnet10t", 64, {}), ("resnet18d", 64, {}), ("seresnext26ts", 64, {}), ("skresnet18", 64, {}), ("res2net50d", 64, {}),
    ("mobilenetv3_small_050", 64, {}), ("mobilenetv4_conv_small", 64, {}), ("efficientnet_lite0", 64, {}),
    ("tf_efficientnetv2_b0", 64, {}), ("ghostnetv2_100", 64, {}), ("lcnet_035", 64, {}), ("tinynet_e", 64, {}),
    ("mixnet_s", 64, {}), ("rexnet_100", 64, {}), ("regnetz_005", 64, {}), ("repvgg_a0", 64, {}), ("mobileone_s0", 64, {}),
    ("repghostnet_050", 64, {}), ("fastvit_t8", 64, {}), ("convnext_atto", 64, {}), ("convnextv2_atto", 64, {}),
    ("edgenext_xx_small", 64, {}), ("mobilevit_xxs", 64, {}), ("mobilevitv2_050", 64, {}), ("efficientvit_b0", 64, {}),
    ("efficientvit_m0", 64, {"img_size": 64}), ("efficientformerv2_s0", 64, {"img_size": 64}), ("poolformer_s12", 64, {}),
    ("caformer_s18", 64, {}), ("vit_tiny_patch16_224", 64, {"img_size": 64, "depth": 2}),
    ("deit3_small_patch16_224", 64, {"img_size": 64, "depth": 2}), ("cait_xxs24_224", 64, {"img_size": 64, "depth": 2}),
    ("xcit_nano_12_p16_224", 64, {"img_size": 64, "depth": 2}), ("beit_base_patch16_224", 64, {"img_size": 64, "depth": 2, "embed_dim": 96}),
    ("eva02_tiny_patch14_224", 56, {"img_size": 56, "depth": 2}), ("swinv2_cr_tiny_ns_224", 64, {"img_size": 64, "depths": (1, 1, 1, 1)}),
    ("twins_pcpvt_small", 64, {}), ("pvt_v2_b0", 64, {}), ("levit_128s", 64, {"img_size": 64}),
    ("mixer_s32_224", 64, {"img_size": 64}), ("gmlp_ti16_224", 64, {"img_size": 64}),
    ("coat_lite_tiny", 64, {"img_size": 64}), ("coatnet_nano_rw_224", 64, {"img_size": 64}), ("visformer_tiny", 64, {"img_size": 64}),
    ("crossvit_tiny_240", 240, {}), ("lambda_resnet26t", 64, {}), ("botnet26t_256", 64, {"img_size": 64}), ("halonet26t", 64, {}),
    ("ese_vovnet19b_dw", 64, {}), ("hrnet_w18_small", 64, {}), ("dla46_c", 64, {}), ("selecsls42", 64, {}), ("hgnetv2_b0", 64, {}),
    ("starnet_s1", 64, {}), ("repvit_m0_9", 64, {}), ("tiny_vit_5m_224", 224, {}), ("inception_next_atto", 64, {}),
    ("davit_tiny", 64, {"depths": (1, 1, 1, 1)}), ("focalnet_tiny_srf", 64, {}), ("mambaout_femto", 64, {}),
    ("gcvit_xxtiny", 64, {"img_size": 64}), ("sequencer2d_s", 64, {"img_size": 64, "layers": (1, 1, 1, 1)}),
    ("nf_regnet_b0", 64, {}), ("volo_d1_224", 64, {"img_size": 64}), ("hiera_tiny_224", 64, {"img_size": 64}),
    ("darknet17", 64, {}), ("rdnet_tiny", 64, {"num_init_features": 32, "growth_rates": (16, 16, 16, 16), "num_blocks_list": (1, 1, 1, 1)}),
)


def timm_models():
    import timm
    for name, size, more in TIMM:
        sides = "img_size" not in more and size == 64 and not name.startswith("tf_")     # whose padding takes dynamo many minutes
        yield name, image(lambda name=name, more=more: timm.create_model(name, pretrained=False, num_classes=10, **more), size, sides=sides)


def cases():
    """Own modules come with both exporters and both kinds of sizes, as do transformers; of the others each has two of the four."""
    import torch_modules
    import torch_transformers
    for library, every, models in (("modules", True, torch_modules.modules), ("transformers", True, torch_transformers.models),
                                   ("torchvision", False, torchvision_models), ("timm", False, timm_models)):
        for place, (name, model) in enumerate(models()):
            for kind, (exporter, sizes) in enumerate((("ts", "fixed"), ("dynamo", "open"), ("ts", "open"), ("dynamo", "fixed"))):
                if model.only in (None, exporter) and (every or kind // 2 == place % 2):
                    yield f"{exporter}-{sizes}/{library}-{name}", exported(model, exporter, sizes)


if __name__ == "__main__":
    sys.modules["torch_exports"] = sys.modules["__main__"]      # what the lists of models import
    logging.disable(logging.WARNING)
    sys.exit(main(list(cases()), __doc__, ("torch", "torchvision", "timm", "transformers", "onnxscript", "onnxruntime")))
