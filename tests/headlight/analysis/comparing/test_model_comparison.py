"""Two implementations of one model: planted errors are found at the first site that they change."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headlight as hl
import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.layouts.test_torch_transformer import Encoder, Translator, shaken
from tests.checkpoints.paper_models import HKPROJ, Layout, PaperModel
from tests.checkpoints.small import BOS, PAD, VOCAB_SIZE
from tests.model.building import random_tokens
from transformer_core.errors import CheckpointError

LENGTHS = (80, 66)  # of the texts in a batch
Plant = Callable[[Any], object]


class SampleNorm(nn.Module):
    """A layer normalization that divides by the sample standard deviation."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + self.eps).sqrt() * self.weight + self.bias


def without_mask(attention: nn.Module) -> None:
    attention.register_forward_pre_hook(
        lambda _, arguments, named: (arguments, named | {"attention_mask": torch.zeros(1, 1, 1, 1)}), with_kwargs=True
    )


NONE, FIRST, SECOND = "", "decoder.blocks.0.self_attn.hook_pattern", "decoder.blocks.1.self_attn.hook_pattern"
GPT2 = ("GPT2LMHeadModel", foreign.GPT2 | {"n_positions": 96})
LLAMA = ("LlamaForCausalLM", foreign.LLAMA | {"max_position_embeddings": 96})
MISTRAL = ("MistralForCausalLM", foreign.LLAMA | {"max_position_embeddings": 96, "sliding_window": 32})
T5 = ("T5ForConditionalGeneration", foreign.T5 | {"relative_attention_max_distance": 40})
MARIAN = ("MarianMTModel", foreign.MARIAN | {"max_position_embeddings": 96})
NEOX = ("GPTNeoXForCausalLM", foreign.NEOX | {"max_position_embeddings": 96})
ALBERT = ("AlbertForMaskedLM", {**foreign.SMALL["albert"].values} | {"max_position_embeddings": 96})
FALCON = ("FalconForCausalLM", {**foreign.SMALL["falcon"].values} | {"max_position_embeddings": 96})
FAULTS: dict[str, tuple[tuple[str, dict[str, Any]], Plant, str]] = {
    "gpt2": (GPT2, lambda model: None, NONE),
    "mistral": (MISTRAL, lambda model: None, NONE),
    "t5": (T5, lambda model: None, NONE),
    "marian": (MARIAN, lambda model: None, NONE),
    "gpt_neox, whose output layer has another name in files": (NEOX, lambda model: None, NONE),
    "albert, whose layers share their modules": (ALBERT, lambda model: None, NONE),
    "falcon, which adds in place": (FALCON, lambda model: None, NONE),
    "causal mask missing": (GPT2, lambda model: without_mask(model.transformer.h[1].attn), SECOND),
    "rotary base": (LLAMA, lambda model: model.model.rotary_emb.inv_freq.pow_(1.1), FIRST),
    "half the window": (MISTRAL, lambda model: setattr(model.config, "sliding_window", 16), FIRST),
    "other buckets": (
        T5,
        lambda model: setattr(model.encoder.block[0].layer[0].SelfAttention, "relative_attention_max_distance", 64),
        "encoder.blocks.0.self_attn.hook_pattern",
    ),
    "exact GELU": (
        GPT2,
        lambda model: setattr(model.transformer.h[1].mlp, "act", nn.GELU()),
        "decoder.blocks.1.mlp.hook_post",
    ),
    "norm by n - 1": (
        GPT2,
        lambda model: setattr(model.transformer.h[2], "ln_2", SampleNorm(model.transformer.h[2].ln_2)),
        "decoder.blocks.2.ln2.hook_normalized",
    ),
    "norm by n - 1, after the sum": (
        MARIAN,
        lambda model: setattr(
            model.model.decoder.layers[1],
            "encoder_attn_layer_norm",
            SampleNorm(model.model.decoder.layers[1].encoder_attn_layer_norm),
        ),
        "decoder.blocks.1.ln_cross.hook_normalized",
    ),
}


def build(class_name: str, values: dict[str, Any]) -> Any:
    """A model of the `transformers` library with random weights."""
    model_class = getattr(foreign.library(), class_name)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = model_class(model_class.config_class(**values))
        for parameter in model.parameters():
            if parameter.requires_grad:  # Marian's positions are a table that is not trained
                parameter.add_(torch.randn(parameter.shape) * 0.2)
    return model


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_site_that_differs_is_the_one_with_the_error(name: str):
    (class_name, values), plant, site = FAULTS[name]
    theirs = build(class_name, values)
    ours, _ = tc.load(theirs)
    plant(theirs)
    tokens = random_tokens(LENGTHS, vocab_size=VOCAB_SIZE, seed=1)
    n_texts = 2 if ours.config.architecture == "encoder_decoder" else 1
    target = torch.where(torch.arange(LENGTHS[0]) == 0, BOS, tokens.clamp(min=BOS + 2))
    compared = hl.compare_models(ours, theirs, *(tokens, target)[:n_texts])
    assert (compared.first.site if compared.first else NONE) == site, str(compared)
    patterns = [name for name in tc.site_names(ours) if name.endswith("hook_pattern")]
    assert [one.site for one in compared.sites if one.site in patterns] == patterns
    assert compared.sites[-1].site == "hook_logits" and theirs.training
    assert not any(module._forward_hooks for model in (ours, theirs) for module in model.modules())


class SmallGPT(nn.Module):
    """A GPT with nanoGPT's names, its fused attention, and its logits of the last position only."""

    def __init__(self) -> None:
        super().__init__()
        linear = {"attn.c_attn": (24, 72), "attn.c_proj": (24, 24), "mlp.c_fc": (24, 96), "mlp.c_proj": (96, 24)}
        parts: Any = nn.ModuleDict({"wte": nn.Embedding(VOCAB_SIZE, 24), "wpe": nn.Embedding(64, 24)})
        parts["h"] = nn.ModuleList()
        for _ in range(2):
            block: Any = nn.ModuleDict({"ln_1": nn.LayerNorm(24), "ln_2": nn.LayerNorm(24)})
            block.update({"attn": nn.ModuleDict(), "mlp": nn.ModuleDict()})
            for name, sizes in linear.items():
                parent, _, child = name.partition(".")
                block[parent][child] = nn.Linear(*sizes)
            parts["h"].append(block)
        parts["ln_f"] = nn.LayerNorm(24)
        self.transformer = parts
        self.lm_head = nn.Linear(24, VOCAB_SIZE, bias=False)
        self.lm_head.weight = parts["wte"].weight

    def forward(self, tokens: Tensor) -> tuple[Tensor, None]:
        parts: Any = self.transformer
        self.places = torch.arange(tokens.shape[1])  # as some models cache masks
        x = parts["wte"](tokens) + parts["wpe"](self.places)
        for block in parts["h"]:
            q, k, v = (
                part.unflatten(-1, (3, 8)).transpose(1, 2)
                for part in block["attn"]["c_attn"](block["ln_1"](x)).split(24, dim=2)
            )
            z = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["attn"]["c_proj"](z.transpose(1, 2).flatten(2))
            inner = nn.functional.gelu(block["mlp"]["c_fc"](block["ln_2"](x)))
            x = x + block["mlp"]["c_proj"](inner)
        return self.lm_head(parts["ln_f"](x)[:, [-1]]), None


RELU = {"activation": "relu"}
MAPPING = "positions = sinusoidal_interleaved\nscale_embeddings = true\nactivation = relu\nnorm_position = post\n"
MAPPING += "token_embedding.weight = encoder.embed.weight\nhead.weight = unembed.weight\n"
MAPPING += "\n".join(
    line
    for part in ("weight", "bias")
    for line in (
        f"encoder.layers.*.self_attn.in_proj_{part} = encoder.blocks.*.self_attn.{{q,k,v}}.{part}",
        f"encoder.layers.*.self_attn.out_proj.{part} = encoder.blocks.*.self_attn.out.{part}",
        *(f"encoder.layers.*.norm{i}.{part} = encoder.blocks.*.ln{i}.{part}" for i in (1, 2)),
        f"encoder.layers.*.linear1.{part} = encoder.blocks.*.mlp.up.{part}",
        f"encoder.layers.*.linear2.{part} = encoder.blocks.*.mlp.down.{part}",
    )
)
Case = tuple[Callable[[], nn.Module], dict[str, Any], Plant, str]
CASES: dict[str, Case] = {
    "torch.nn.Transformer": (
        lambda: Translator(norm_first=True),
        {**RELU, "norm_position": "pre"},
        lambda model: None,
        NONE,
    ),
    "its activation": (
        lambda: Translator(norm_first=False),
        {**RELU, "norm_position": "post"},
        lambda model: setattr(model.transformer.decoder.layers[1], "activation", nn.functional.gelu),
        "decoder.blocks.1.mlp.hook_post",
    ),
    "a mapping": (lambda: Encoder(is_causal=False, has_head=True), {"mapping": MAPPING}, lambda model: None, NONE),
    "a mapping of a training's file": (
        lambda: Encoder(is_causal=False, has_head=True),
        {"mapping": re.sub(r"^(?=\S+ = encoder|head)", "model.", MAPPING, flags=re.MULTILINE)},
        lambda model: None,
        NONE,
    ),
    "its scale": (
        lambda: Encoder(is_causal=False, has_head=True),
        {"mapping": MAPPING.replace("scale_embeddings = true", "")},
        lambda model: None,
        "encoder.blocks.0.hook_resid_pre",
    ),
    "nanoGPT": (SmallGPT, {}, lambda model: None, NONE),
    "nanoGPT with another GELU": (
        SmallGPT,
        {"activation": "gelu_tanh"},
        lambda model: None,
        "decoder.blocks.0.mlp.hook_post",
    ),
    "hkproj": (lambda: paper_model(HKPROJ), {}, lambda model: None, NONE),
    "its norm": (
        lambda: paper_model(HKPROJ),
        {},
        lambda model: setattr(model.get_submodule("decoder.layers.1.residual_connections.1.norm"), "is_sample", False),
        "decoder.blocks.1.ln_cross.hook_normalized",
    ),
}


def paper_model(layout: Layout) -> nn.Module:
    return PaperModel(layout, d_model=24, d_ff=40, n_heads=3, n_layers=2, sizes=(VOCAB_SIZE, VOCAB_SIZE), pad=PAD)


@pytest.mark.parametrize("name", CASES)
def test_models_without_a_configuration_are_matched_by_their_layout(name: str):
    build, options, plant, site = CASES[name]
    torch.manual_seed(0)
    theirs = shaken(build())
    ours, _ = tc.load(theirs, options={"n_heads": 3, **options})
    plant(theirs)
    tokens = torch.randint(1, VOCAB_SIZE, (2, 30))
    n_texts = 2 if ours.config.architecture == "encoder_decoder" else 1
    compared = hl.compare_models(ours, theirs, *(tokens, tokens)[:n_texts], options=options)
    assert (compared.first.site if compared.first else NONE) == site, str(compared)
    assert sum(one.site.endswith("hook_pattern") for one in compared.sites) == len(
        [name for name in tc.site_names(ours) if name.endswith("hook_pattern")]
    )


def test_their_model_can_be_trained_with_what_it_caches():
    ours, _ = tc.load(theirs := SmallGPT(), options={"n_heads": 3})
    hl.compare_models(ours, theirs, torch.ones(1, 4, dtype=torch.long))
    assert not theirs.places.is_inference()


def test_a_model_with_other_weights_is_refused():
    ours, _ = tc.load(build(*GPT2))
    with torch.no_grad():
        (theirs := build(*GPT2)).transformer.h[1].mlp.c_fc.weight.mul_(2)
    with pytest.raises(CheckpointError, match=r"has other weights at transformer\.h\.1\.mlp\.c_fc\.weight"):
        hl.compare_models(ours, theirs, torch.ones(1, 4, dtype=torch.long))
