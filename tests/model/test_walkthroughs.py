"""Two published walk-throughs of a forward pass, shape by shape."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import odd_config, random_tokens

START = 50256  # <|endoftext|>
TEXT = """Chapter 1\n\n\n\nIt was a bright cold day in April, and the clocks were striking thirteen."""


@pytest.fixture(scope="module")
def gpt2_tokenizer(shared_data: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(shared_data / "tokenizers" / "gpt2", local_files_only=True)


@pytest.fixture(scope="module")
def windows(gpt2_tokenizer: Any) -> tuple[Tensor, Tensor]:
    """(src, tgt), both [4, 10]: windows of length 10 that slide by 1, and the same stream shifted right by 1."""
    stream = torch.tensor(gpt2_tokenizer(TEXT)["input_ids"])
    shifted = torch.cat([torch.tensor([START]), stream[:-1]])
    return stream.unfold(0, 10, 1)[:4], shifted.unfold(0, 10, 1)[:4]


@pytest.fixture(scope="module")
def first_example(windows: tuple[Tensor, Tensor]) -> tuple[tc.Activations, Tensor]:
    """The captured sites, and the probabilities, of the first example."""
    config = tc.ModelConfig(
        vocab_size=50257,
        d_model=6,
        n_heads=2,
        d_ff=12,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_seq_len=10,
        pad_id=None,
        bos_id=START,
        eos_id=START,
    )
    model = tc.build(config).eval()
    with torch.no_grad(), tc.capture(model, "*") as acts:
        probabilities = model(*windows).softmax(dim=-1)
    return acts, probabilities


@pytest.mark.parametrize(
    "text, published",
    [
        (
            "Chapter 1\n\n\n\nIt was a bright cold day",
            [14126, 352, 628, 198, 198, 1026, 373, 257, 6016, 4692, 1110],
        ),
        ("<|endoftext|> machine learning using PyTorch", [50256, 4572, 4673, 1262, 9485, 15884, 354]),
    ],
)
def test_published_token_ids(gpt2_tokenizer: Any, text: str, published: list[int]):
    assert gpt2_tokenizer(text)["input_ids"] == published
    assert len(gpt2_tokenizer) == 50257


def test_the_windows(windows: tuple[Tensor, Tensor]):
    src, tgt = windows
    assert src.shape == tgt.shape == (4, 10)
    assert src[0].tolist() == [14126, 352, 628, 198, 198, 1026, 373, 257, 6016, 4692]
    assert tgt[0].tolist() == [START, 14126, 352, 628, 198, 198, 1026, 373, 257, 6016]
    assert torch.equal(src[1:, :-1], src[:-1, 1:]) and torch.equal(tgt[1:, 0], src[:-1, 0])


ATTENTIONS = ("encoder.blocks.0.self_attn", "decoder.blocks.0.self_attn", "decoder.blocks.0.cross_attn")


@pytest.mark.parametrize(
    "stage, shape",
    [
        *((f"{stack}.hook_{stem}", (4, 10, 6)) for stack in ("encoder", "decoder") for stem in ("embed", "pos_embed")),
        *((f"{stack}.blocks.0.hook_resid_pre", (4, 10, 6)) for stack in ("encoder", "decoder")),
        *((f"{attn}.hook_{stem}", (4, 2, 10, 3)) for attn in ATTENTIONS for stem in "qkv"),
        *((f"{attn}.hook_attn_scores", (4, 2, 10, 10)) for attn in ATTENTIONS),
        *((f"{attn}.hook_pattern", (4, 2, 10, 10)) for attn in ATTENTIONS),
        *((f"{attn}.hook_z", (4, 2, 10, 3)) for attn in ATTENTIONS),
        *((f"{attn}.hook_attn_out", (4, 10, 6)) for attn in ATTENTIONS),
        *((f"{stack}.blocks.0.ln1.hook_normalized", (4, 10, 6)) for stack in ("encoder", "decoder")),
        ("decoder.blocks.0.ln_cross.hook_normalized", (4, 10, 6)),
        *((f"{stack}.blocks.0.mlp.hook_pre", (4, 10, 12)) for stack in ("encoder", "decoder")),
        *((f"{stack}.blocks.0.hook_mlp_out", (4, 10, 6)) for stack in ("encoder", "decoder")),
        *((f"{stack}.blocks.0.ln2.hook_normalized", (4, 10, 6)) for stack in ("encoder", "decoder")),
        ("hook_logits", (4, 10, 50257)),
    ],
)
def test_stage(first_example: tuple[tc.Activations, Tensor], stage: str, shape: tuple[int, ...]):
    acts, _ = first_example
    assert acts[stage].shape == shape


def test_heads_are_split_and_merged_as_published(first_example: tuple[tc.Activations, Tensor]):
    """4, 10, 18 -> 4, 10, 2, 9 -> 4, 2, 10, 9 -> three of 4, 2, 10, 3; and 4, 2, 10, 3 -> 4, 10, 2, 3 -> 4, 10, 6."""
    acts, _ = first_example
    attn = ATTENTIONS[0]
    q_k_v = torch.cat([acts[f"{attn}.hook_{stem}"] for stem in "qkv"], dim=-1)
    assert q_k_v.shape == (4, 2, 10, 9)
    split = q_k_v.transpose(1, 2)
    assert split.shape == (4, 10, 2, 9) and split.flatten(start_dim=2).shape == (4, 10, 18)
    weighted = acts[f"{attn}.hook_z"].transpose(1, 2)
    assert weighted.shape == (4, 10, 2, 3) and weighted.flatten(start_dim=2).shape == (4, 10, 6)


def test_only_the_decoder_s_self_attention_is_causal(first_example: tuple[tc.Activations, Tensor]):
    acts, _ = first_example
    future = torch.ones(10, 10, dtype=torch.bool).triu(diagonal=1)
    assert [bool((acts[f"{attn}.hook_pattern"][..., future] == 0).all()) for attn in ATTENTIONS] == [False, True, False]


def test_probabilities_sum_to_one(first_example: tuple[tc.Activations, Tensor]):
    acts, probabilities = first_example
    assert probabilities.shape == (4, 10, 50257)
    torch.testing.assert_close(probabilities.sum(dim=-1), torch.ones(4, 10), rtol=1e-5, atol=1e-5)
    for attn in ATTENTIONS:
        torch.testing.assert_close(acts[f"{attn}.hook_pattern"].sum(dim=-1), torch.ones(4, 2, 10))


def test_second_example():
    """Batch 32, source 128, target 64, d_model 512, 8 heads of 64; one layer a side, which changes no shape."""
    config = odd_config(
        vocab_size=101, d_model=512, n_heads=8, d_ff=512, n_encoder_layers=1, n_decoder_layers=1, max_seq_len=128
    )
    model = tc.build(config).eval()
    src, tgt = random_tokens([128] * 32, vocab_size=101), random_tokens([64] * 32, vocab_size=101)
    with torch.no_grad(), tc.capture(model, "*.hook_[qkvz]", "*.hook_pattern") as acts:
        assert model(src, tgt).shape == (32, 64, 101)
    shapes = {name: tuple(value.shape) for name, value in acts.items()}
    for attn, n_queries, n_keys in zip(ATTENTIONS, (128, 64, 64), (128, 64, 128), strict=True):
        assert shapes[f"{attn}.hook_q"] == shapes[f"{attn}.hook_z"] == (32, 8, n_queries, 64)
        assert shapes[f"{attn}.hook_k"] == shapes[f"{attn}.hook_v"] == (32, 8, n_keys, 64)
        assert shapes[f"{attn}.hook_pattern"] == (32, 8, n_queries, n_keys)
