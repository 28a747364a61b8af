"""Architectures of transformers with two layers of 32 features. Part of torch_exports.py: `models()` gives a Model for each."""
import torch
from torch import nn

from torch_exports import Model

LAYERS, HIDDEN, HEADS, WORDS = 2, 32, 4, 100
# What configurations call their sizes; each takes what it has.
SIZES = {
    "vocab_size": WORDS, "hidden_size": HIDDEN, "n_embd": HIDDEN, "d_model": HIDDEN, "dim": HIDDEN, "embed_dim": HIDDEN,
    "embedding_size": HIDDEN, "word_embed_proj_dim": HIDDEN, "num_hidden_layers": LAYERS, "n_layer": LAYERS, "n_layers": LAYERS,
    "num_layers": LAYERS, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "num_decoder_layers": LAYERS,
    "num_attention_heads": HEADS, "n_head": HEADS, "n_heads": HEADS, "num_heads": HEADS, "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": HIDDEN // HEADS, "d_kv": HIDDEN // HEADS,
    "intermediate_size": 64, "ffn_dim": 64, "d_ff": 64, "hidden_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "n_inner": 64,
    "moe_intermediate_size": 16, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "max_position_embeddings": 64, "n_positions": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def config_of(kind, **more):
    """The configuration class with the sizes that it knows."""
    import transformers
    cls = getattr(transformers, kind + "Config")
    known = cls().to_dict()
    config = cls(**{k: v for k, v in SIZES.items() if k in known} | more)
    config.use_cache, config.return_dict = False, True
    config._experts_implementation = "batched_mm"       # no exporter takes the default
    return config


class Tensors(nn.Module):
    """All tensors of the results, under the names of the parameters that are exported."""
    def __init__(self, inner, results=None):
        super().__init__()
        self.inner, self.results = inner, results

    def call(self, **inputs):
        out = self.inner(**inputs)
        found = {k: v for k, v in out.items() if isinstance(v, torch.Tensor)}
        return tuple(found[k] for k in self.results) if self.results else tuple(found.values())


class Text(Tensors):
    def forward(self, input_ids, attention_mask):
        return self.call(input_ids=input_ids, attention_mask=attention_mask)


class Pair(Tensors):
    def forward(self, input_ids, attention_mask, decoder_input_ids):
        return self.call(input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=decoder_input_ids)


class Pixels(Tensors):
    def forward(self, pixel_values):
        return self.call(pixel_values=pixel_values)


class Sound(Tensors):
    def forward(self, input_values):
        return self.call(input_values=input_values)


class Features(Tensors):
    def forward(self, input_features, decoder_input_ids):
        return self.call(input_features=input_features, decoder_input_ids=decoder_input_ids)


class PixelsText(Tensors):
    def forward(self, input_ids, attention_mask, pixel_values):
        return self.call(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values)


class Past(nn.Module):
    """One step of a decoder: tokens and what is kept of those before, as tensors."""
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask, key_0, value_0, key_1, value_1):
        from transformers import DynamicCache
        cache = DynamicCache(config=self.inner.config)
        cache.update(key_0, value_0, 0)
        cache.update(key_1, value_1, 1)
        out = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        kept = out.past_key_values
        return out.logits, kept.layers[0].keys, kept.layers[0].values, kept.layers[1].keys, kept.layers[1].values


def built(kind, cls, **more):
    def make():
        import transformers
        model = getattr(transformers, kind + cls)(config_of(kind, **more))
        for p in model.parameters():        # zeros and ones, which trained models have not
            if p.dim() == 1:
                p.data += 0.1 * torch.randn_like(p)
        return model
    return make


def text_inputs(b, n):
    mask = torch.ones(b, n, dtype=torch.int64)
    mask[-1, n - 2:] = 0
    return {"input_ids": torch.randint(3, WORDS, (b, n)), "attention_mask": mask}


TEXT = [{"b": 2, "n": 7}, {"b": 3, "n": 12}]
TEXT_AXES = {"input_ids": {0: "b", 1: "n"}, "attention_mask": {0: "b", 1: "n"}}


def text(kind, cls="Model", **more):
    return Model(lambda: Text(built(kind, cls, **more)()), text_inputs, TEXT, TEXT_AXES)


def past(kind, heads, **more):
    def inputs(b, p, n):
        kept = {f"{what}_{k}": torch.randn(b, heads, p, HIDDEN // HEADS) for k in range(LAYERS) for what in ("key", "value")}
        return {"input_ids": torch.randint(3, WORDS, (b, n)), "attention_mask": torch.ones(b, p + n, dtype=torch.int64)} | kept
    axes = {"input_ids": {0: "b", 1: "n"}, "attention_mask": {0: "b", 1: "all"}}
    axes |= {f"{what}_{k}": {0: "b", 2: "p"} for k in range(LAYERS) for what in ("key", "value")}
    return Model(lambda: Past(built(kind, "LMHeadModel" if kind == "GPT2" else "ForCausalLM", **more)()), inputs,
                 [{"b": 2, "p": 5, "n": 3}, {"b": 3, "p": 9, "n": 2}], axes)


def pair(kind, cls="ForConditionalGeneration", **more):
    def inputs(b, n, m):
        return text_inputs(b, n) | {"decoder_input_ids": torch.randint(3, WORDS, (b, m))}
    return Model(lambda: Pair(built(kind, cls, **more)()), inputs, [{"b": 2, "n": 7, "m": 5}, {"b": 3, "n": 11, "m": 4}],
                 TEXT_AXES | {"decoder_input_ids": {0: "b", 1: "m"}})


def vision(kind, cls="Model", size=64, sides=False, **more):
    def inputs(b, h=size, w=size):
        return {"pixel_values": torch.randn(b, 3, h, w)}
    sets = [{"b": 2, "h": size, "w": size}, {"b": 3, "h": size + 32, "w": size * 2}]
    axes = {0: "b"} | ({2: "h", 3: "w"} if sides else {})
    return Model(lambda: Pixels(built(kind, cls, **more)()), inputs, [{k: v for k, v in s.items() if k in axes.values()} for s in sets],
                 {"pixel_values": axes})


def sound(kind, cls, **more):
    convs = {"conv_dim": (16, 16, 16), "conv_stride": (5, 4, 2), "conv_kernel": (10, 8, 4), "num_feat_extract_layers": 3,
             "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}
    return Model(lambda: Sound(built(kind, cls, **convs | more)()), lambda b, n: {"input_values": torch.randn(b, n)},
                 [{"b": 2, "n": 800}, {"b": 3, "n": 1237}], {"input_values": {0: "b", 1: "n"}})


def clip():
    def make():
        import transformers
        sub = {"hidden_size": HIDDEN, "intermediate_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
        config = transformers.CLIPConfig(text_config=sub | {"vocab_size": WORDS, "eos_token_id": 2, "max_position_embeddings": 64},
                                         vision_config=sub | {"image_size": 64, "patch_size": 16}, projection_dim=16)
        return PixelsText(transformers.CLIPModel(config), ["logits_per_image", "text_embeds", "image_embeds"])

    def inputs(b, n):
        return text_inputs(b, n) | {"pixel_values": torch.randn(b, 3, 64, 64)}
    return Model(make, inputs, TEXT, TEXT_AXES | {"pixel_values": {0: "b"}})


def whisper():
    def inputs(b, n):
        return {"input_features": torch.randn(b, 16, 40), "decoder_input_ids": torch.randint(3, WORDS, (b, n))}
    return Model(lambda: Features(built("Whisper", "ForConditionalGeneration", num_mel_bins=16, max_source_positions=20,
                                        max_target_positions=64)()), inputs, TEXT,
                 {"input_features": {0: "b"}, "decoder_input_ids": {0: "b", 1: "n"}})


def spectrogram():
    return Model(lambda: Sound(built("AST", "ForAudioClassification", num_mel_bins=32, max_length=64)()),
                 lambda b: {"input_values": torch.randn(b, 64, 32)}, [{"b": 2}, {"b": 3}], {"input_values": {0: "b"}})


def film(kind):
    return Model(lambda: Pixels(built(kind, "ForVideoClassification", image_size=32, patch_size=8, num_frames=4)()),
                 lambda b: {"pixel_values": torch.randn(b, 4, 3, 32, 32)}, [{"b": 2}, {"b": 3}], {"pixel_values": {0: "b"}})


def speech():
    def inputs(b, t, n):
        return {"input_features": torch.randn(b, t, 16), "decoder_input_ids": torch.randint(3, WORDS, (b, n))}
    return Model(lambda: Features(built("Speech2Text", "ForConditionalGeneration", input_feat_per_channel=16, max_source_positions=64,
                                        max_target_positions=64, conv_channels=32)()), inputs, [{"b": 2, "t": 24, "n": 5}, {"b": 3, "t": 41, "n": 7}],
                 {"input_features": {0: "b", 1: "t"}, "decoder_input_ids": {0: "b", 1: "n"}})


def models():
    """(name, Model)"""
    image = {"image_size": 64, "patch_size": 16}
    stages = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}
    swin = {"image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}
    latent = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "n_group": 2, "topk_group": 1,
              "first_k_dense_replace": 1, "num_key_value_heads": HEADS}
    found = {
        "bert": text("Bert", "ForMaskedLM"), "roberta": text("Roberta", "ForSequenceClassification"), "distilbert": text("DistilBert"),
        "albert": text("Albert", "ForTokenClassification"), "electra": text("Electra", "ForPreTraining"),
        "mpnet": text("MPNet"), "deberta": text("DebertaV2"), "deberta_v1": text("Deberta"), "convbert": text("ConvBert"),
        "squeezebert": text("SqueezeBert"), "mobilebert": text("MobileBert", true_hidden_size=16, intra_bottleneck_size=16), "fnet": text("FNet"),
        "funnel": text("Funnel", block_sizes=[1, 1], d_inner=64, d_head=8), "xlnet": text("XLNet"), "camembert": text("Camembert", "ForQuestionAnswering"),
        "modernbert": text("ModernBert", "ForMaskedLM"), "xlm": text("XLM", emb_dim=HIDDEN), "t5_encoder": text("T5", "EncoderModel"),
        "longformer": text("Longformer", attention_window=4), "bigbird": text("BigBird", attention_type="original_full"),
        "rembert": text("RemBert", input_embedding_size=16, output_embedding_size=16), "roformer": text("RoFormer"),
        "gpt2": text("GPT2", "LMHeadModel"), "gpt_neo": text("GPTNeo", "ForCausalLM", attention_types=[[["global", "local"], 1]]),
        "gpt_neox": text("GPTNeoX", "ForCausalLM"), "gptj": text("GPTJ", "ForCausalLM", rotary_dim=4), "opt": text("OPT", "ForCausalLM"),
        "bloom": text("Bloom", "ForCausalLM"), "falcon": text("Falcon", "ForCausalLM"), "mpt": text("Mpt", "ForCausalLM"),
        "llama": text("Llama", "ForCausalLM"), "mistral": text("Mistral", "ForCausalLM", sliding_window=4), "qwen2": text("Qwen2", "ForCausalLM"),
        "qwen3": text("Qwen3", "ForCausalLM"), "gemma": text("Gemma", "ForCausalLM"), "gemma2": text("Gemma2", "ForCausalLM", sliding_window=4),
        "phi": text("Phi", "ForCausalLM"), "phi3": text("Phi3", "ForCausalLM"), "stablelm": text("StableLm", "ForCausalLM"),
        "cohere": text("Cohere", "ForCausalLM"), "olmo2": text("Olmo2", "ForCausalLM"), "granite": text("Granite", "ForCausalLM"),
        "mixtral": text("Mixtral", "ForCausalLM"), "qwen2_moe": text("Qwen2Moe", "ForCausalLM", shared_expert_intermediate_size=32),
        "olmoe": text("Olmoe", "ForCausalLM"), "qwen3_moe": text("Qwen3Moe", "ForCausalLM"), "phimoe": text("Phimoe", "ForCausalLM"),
        "granitemoe": text("GraniteMoe", "ForCausalLM"), "gpt_oss": text("GptOss", "ForCausalLM"), "jetmoe": text("JetMoe", "ForCausalLM", kv_channels=8),
        "ernie_moe": text("Ernie4_5_Moe", "ForCausalLM", moe_num_experts=4, moe_k=2), "glm4_moe": text("Glm4Moe", "ForCausalLM"),
        "deepseek_v3": text("DeepseekV3", "ForCausalLM", **latent), "minimax": text("MiniMax", "ForCausalLM"),
        "jamba": text("Jamba", "ForCausalLM", mamba_d_state=4, use_mamba_kernels=False),
        "mamba2": text("Mamba2", "ForCausalLM", state_size=4, num_heads=8, head_dim=8, n_groups=1),
        "falcon_mamba": text("FalconMamba", "ForCausalLM", state_size=4), "lfm2": text("Lfm2", "ForCausalLM"),
        "recurrent_gemma": text("RecurrentGemma", "ForCausalLM", lru_width=HIDDEN), "codegen": text("CodeGen", "ForCausalLM", rotary_dim=4),
        "biogpt": text("BioGpt", "ForCausalLM"), "xglm": text("XGLM", "ForCausalLM"), "starcoder2": text("Starcoder2", "ForCausalLM"),
        "nemotron": text("Nemotron", "ForCausalLM"), "glm4": text("Glm4", "ForCausalLM"), "cohere2": text("Cohere2", "ForCausalLM"),
        "olmo3": text("Olmo3", "ForCausalLM"), "gpt_bigcode": text("GPTBigCode", "ForCausalLM"), "diffllama": text("DiffLlama", "ForCausalLM"),
        "bitnet": text("BitNet", "ForCausalLM"), "canine": text("Canine"), "layoutlm": text("LayoutLM"), "megatron": text("MegatronBert"),
        "ibert": text("IBert"), "esm": text("Esm", position_embedding_type="rotary"), "flaubert": text("Flaubert", emb_dim=HIDDEN),
        "eurobert": text("EuroBert"), "smollm3": text("SmolLM3", "ForCausalLM"), "mamba": text("Mamba", "ForCausalLM", state_size=4), "rwkv": text("Rwkv", "ForCausalLM"),
        "gpt2_past": past("GPT2", HEADS), "llama_past": past("Llama", 2), "qwen2_past": past("Qwen2", 2), "opt_past": past("OPT", HEADS),
        "gpt_neox_past": past("GPTNeoX", HEADS), "phi3_past": past("Phi3", 2), "gemma_past": past("Gemma", 2),
        "mistral_past": past("Mistral", 2), "mixtral_past": past("Mixtral", 2), "qwen3_past": past("Qwen3", 2), "phi_past": past("Phi", 2),
        "bloom_past": past("Bloom", HEADS), "gptj_past": past("GPTJ", HEADS, rotary_dim=4), "qwen3_moe_past": past("Qwen3Moe", 2),
        "gemma2_past": past("Gemma2", 2, sliding_window=4), "stablelm_past": past("StableLm", 2),
        "switch": pair("SwitchTransformers", num_sparse_encoder_layers=1, num_sparse_decoder_layers=1), "mbart": pair("MBart"),
        "longt5": pair("LongT5", local_radius=3), "umt5": pair("UMT5"), "pegasus_x": pair("PegasusX", block_size=4, num_global_tokens=2),
        "bigbird_pegasus": pair("BigBirdPegasus", attention_type="original_full"), "fsmt": pair("FSMT", src_vocab_size=WORDS, tgt_vocab_size=WORDS),
        "bart": pair("Bart"), "t5": pair("T5"), "mt5": pair("MT5"), "marian": pair("Marian", "MTModel"), "pegasus": pair("Pegasus"),
        "blenderbot": pair("Blenderbot"), "m2m": pair("M2M100"), "led": pair("LED", attention_window=4), "prophetnet": pair("ProphetNet", num_encoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4),
        "vit": vision("ViT", "ForImageClassification", **image), "deit": vision("DeiT", **image), "beit": vision("Beit", **image),
        "dinov2": vision("Dinov2", sides=True, **image), "swin": vision("Swin", "ForImageClassification", **swin), "swinv2": vision("Swinv2", **swin),
        "convnext": vision("ConvNext", sides=True, **stages), "resnet": vision("ResNet", embedding_size=16, sides=True, **stages),
        "regnet": vision("RegNet", embedding_size=16, groups_width=8, sides=True, **stages), "poolformer": vision("PoolFormer", sides=True, **stages),
        "segformer": vision("Segformer", "ForSemanticSegmentation", sides=True, hidden_sizes=[16, 32, 48, 64],
                            num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32),
        "mobilevit": vision("MobileViT", image_size=64, hidden_sizes=[24, 32, 40], neck_hidden_sizes=[8, 16, 24, 32, 40, 48, 64]),
        "mobilenet_v2": vision("MobileNetV2", sides=True), "vit_mae": vision("ViTMSN", **image), "efficientnet": vision("EfficientNet", width_coefficient=0.5, depth_coefficient=0.5, hidden_dim=640),
        "dpt": vision("DPT", "ForDepthEstimation", image_size=64, patch_size=16, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3],
                      neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16),
        "yolos": vision("Yolos", "ForObjectDetection", image_size=[64, 64], patch_size=16, num_detection_tokens=5),
        "detr": vision("Detr", "ForObjectDetection", sides=False, use_timm_backbone=False, num_queries=5),
        "levit": vision("Levit", image_size=64, hidden_sizes=[16, 32, 48], depths=[1, 1, 1], num_attention_heads=[2, 2, 2], key_dim=[8, 8, 8]),
        "pvt": vision("Pvt", image_size=64, num_attention_heads=[1, 2, 3, 4], **stages), "dinov3": vision("DINOv3ViT", **image),
        "focalnet": vision("FocalNet", image_size=64, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2], focal_windows=[3, 3]),
        "siglip": vision("SiglipVision", **image), "dinov2_registers": vision("Dinov2WithRegisters", **image), "ijepa": vision("IJepa", **image),
        "dinov3_convnext": vision("DINOv3ConvNext", **stages), "convnextv2": vision("ConvNextV2", sides=True, **stages),
        "bit": vision("Bit", embedding_size=16, num_groups=8, **stages | {"hidden_sizes": [32, 32, 64, 64]}),
        "swiftformer": vision("SwiftFormer", embed_dims=[16, 32, 48, 64], depths=[1, 1, 1, 1]),
        "mobilevitv2": vision("MobileViTV2", image_size=64, width_multiplier=0.5), "mobilenet_v1": vision("MobileNetV1", depth_multiplier=0.25, sides=True),
        "hiera": vision("Hiera", image_size=[64, 64], embed_dim=16, depths=[1, 1], num_heads=[1, 2], num_query_pool=1),
        "conditional_detr": vision("ConditionalDetr", "ForObjectDetection", use_timm_backbone=False, num_queries=5),
        "deformable_detr": vision("DeformableDetr", "ForObjectDetection", use_timm_backbone=False, num_queries=5),
        "upernet": vision("UperNet", "ForSemanticSegmentation"), "superpoint": vision("SuperPoint", "ForKeypointDetection"),
        "swin2sr": vision("Swin2SR", "ForImageSuperResolution", **swin | {"patch_size": 1}),
        "depth_anything": vision("DepthAnything", "ForDepthEstimation", 56), "data2vec_audio": sound("Data2VecAudio", "Model"),
        "unispeech": sound("UniSpeech", "Model"), "unispeech_sat": sound("UniSpeechSat", "Model"), "sew_d": sound("SEWD", "Model", squeeze_factor=2),
        "wav2vec2_conformer": sound("Wav2Vec2Conformer", "Model", position_embeddings_type="rotary"), "ast": spectrogram(),
        "videomae": film("VideoMAE"), "timesformer": film("Timesformer"), "speech_to_text": speech(), "clip": clip(), "whisper": whisper(), "wav2vec2": sound("Wav2Vec2", "ForCTC"), "hubert": sound("Hubert", "Model"),
        "wavlm": sound("WavLM", "Model"), "sew": sound("SEW", "Model"),
    }
    yield from found.items()
