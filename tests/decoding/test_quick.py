"""The step without modules gives what the modules give, for every part that a configuration can choose."""

from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.model.building import odd_config, random_tokens, shaken_model
from transformer_core.decoding import quick as module
from transformer_core.decoding.steps import Writing

ALONE: dict[str, Any] = {"architecture": "decoder_only", "n_encoder_layers": 0, "tie_embeddings": "target"}
PARTS: dict[str, dict[str, Any]] = {
    "the paper": {},
    "pre-norm": {"norm_position": "pre", "tie_embeddings": "none"},
    "learned": {"positions": "learned", "scale_embeddings": False, "embedding_norm": True},
    "relative buckets": {"positions": "relative_buckets", "norm": "rms", "scale_scores": False, "scale_logits": True},
    "attention only": ALONE | {"d_ff": 0, "positions": "none"},
    "attention only, two stacks": {"d_ff": 0},
    "rotary": ALONE | {"positions": "rotary_halves", "rotary_fraction": 0.5, "norm": "rms", "norm_position": "pre"},
    "interleaved, grouped": ALONE | {"positions": "rotary_interleaved", "n_kv_heads": 1, "attention_bias": "qkv"},
    "q/k norm": ALONE | {"positions": "rotary_halves", "qk_norm": True, "d_head": 10, "attention_bias": "none"},
    "q/k norm, two stacks": {"qk_norm": True, "n_kv_heads": 1},
    "alibi": ALONE | {"positions": "alibi", "activation": "gelu_tanh", "norm": "layer_without_bias"},
    "alibi in a window": ALONE | {"positions": "alibi", "sliding_window": 3},
    "window": ALONE | {"sliding_window": 3, "gated": True, "activation": "silu", "feed_forward_bias": False},
    "bias of the last layer": ALONE | {"unembed_bias": True, "activation": "gelu"},
}


@pytest.fixture(params=PARTS)
def model(request: pytest.FixtureRequest) -> tc.Transformer:
    return shaken_model(odd_config(**({"max_seq_len": 80} | PARTS[request.param])))


@torch.no_grad()
def test_a_step_gives_the_log_probabilities_of_a_whole_reading(model: tc.Transformer):
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    quick = Writing(model, tokens, max_new_tokens=9)
    whole = Writing(model, tokens, max_new_tokens=9, use_cache=False)
    generator = torch.Generator().manual_seed(1)
    for step in range(8):
        torch.testing.assert_close(quick.read()[:, -1], whole.read()[:, -1], atol=1e-5, rtol=1e-5)
        assert (quick.quick is not None) and whole.quick is None, f"step {step} was not the one meant"
        token = torch.randint(1, 37, (2,), generator=generator)
        quick.write(token.tolist())
        whole.write(token.tolist())


@torch.no_grad()
def test_beams_change_their_places(model: tc.Transformer):
    """After `repeat` and `reorder` each row goes on as the text that it now holds."""
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    quick = Writing(model, tokens, max_new_tokens=9)
    quick.read()
    quick.repeat(3)
    generator = torch.Generator().manual_seed(2)
    for rows in ([0, 0, 2, 4, 3, 5], [1, 2, 0, 3, 3, 3], [0, 1, 2, 3, 4, 5]):
        quick.write(torch.randint(1, 37, (6,), generator=generator).tolist())
        quick.read()
        quick.reorder(rows)
    quick.write(torch.randint(1, 37, (6,), generator=generator).tolist())
    whole = Writing(model, tokens, max_new_tokens=9, use_cache=False)
    whole.repeat(3)
    whole.rows = quick.rows
    torch.testing.assert_close(quick.read()[:, -1], whole.read()[:, -1], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_many_steps_of_many_beams(model: tc.Transformer):
    """Long enough for keys that no beam sees any more to be dropped, several times, in each search other ones."""
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    quick, whole = (Writing(model, tokens, max_new_tokens=70, use_cache=cache) for cache in (True, False))
    for writing in (quick, whole):
        writing.read()
        writing.repeat(3)
    generator = torch.Generator().manual_seed(3)
    for _ in range(70):
        beams = torch.randint(3, (2, 3), generator=generator) + torch.tensor([[0], [3]])
        written = torch.randint(1, 37, (6,), generator=generator).tolist()
        for writing in (quick, whole):
            writing.reorder(beams.flatten().tolist())
            writing.write(written)
        assert quick.quick is not None
        found = quick.read()
    assert quick.rows == whole.rows
    torch.testing.assert_close(found[:, -1], whole.read()[:, -1], atol=2e-5, rtol=1e-5)


def test_who_looks_at_beams_between_two_steps_changes_nothing(model: tc.Transformer):
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    quick, whole = (Writing(model, tokens, max_new_tokens=30, use_cache=cache) for cache in (True, False))
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for writing in (quick, whole):
            writing.read()
            writing.repeat(3)
        for step in range(30):
            beams = (torch.randint(3, (2, 3), generator=generator) + torch.tensor([[0], [3]])).flatten().tolist()
            written = torch.randint(1, 37, (6,), generator=generator).tolist()
            for writing in (quick, whole):
                writing.reorder(beams)
                writing.write(written)
            if step == 22:
                with tc.capture(model, "decoder.*.self_attn.hook_pattern") as acts:
                    found = quick.read()
                assert quick.quick is None and acts["decoder.blocks.1.self_attn.hook_pattern"].shape[0] == 6
            else:
                found = quick.read()
            if step in (21, 22, 23, 29):
                torch.testing.assert_close(found[:, -1], whole.read()[:, -1], atol=2e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("n_rows", [1, 40])
def test_many_rows_are_read_like_few(model: tc.Transformer, n_rows: int):
    """Of many rows torch does the products."""
    tokens = random_tokens([7] * n_rows, vocab_size=37)
    quick, whole = (Writing(model, tokens, max_new_tokens=4, use_cache=cache) for cache in (True, False))
    generator = torch.Generator().manual_seed(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0 if n_rows > 1 else module._SMALL)
        for _ in range(4):
            torch.testing.assert_close(quick.read()[:, -1], whole.read()[:, -1], atol=1e-5, rtol=1e-5)
            written = torch.randint(1, 37, (n_rows,), generator=generator).tolist()
            quick.write(written)
            whole.write(written)


def test_who_looks_between_two_steps_sees_them(model: tc.Transformer):
    tokens = random_tokens([6], vocab_size=37)
    with torch.no_grad():
        writing = Writing(model, tokens, max_new_tokens=5)
        for _ in range(2):
            writing.read()
            writing.write(tokens[:, 0].tolist())
        with tc.capture(model, "decoder.*.self_attn.hook_pattern") as acts:
            writing.read()
    n_read = writing.tokens.shape[1]
    assert acts["decoder.blocks.1.self_attn.hook_pattern"].shape == (1, 3, 1, n_read)


def test_in_training_the_modules_do_it(model: tc.Transformer):
    model.train()
    with torch.no_grad():
        writing = Writing(model, random_tokens([6], vocab_size=37), max_new_tokens=5)
        writing.read()
    assert writing.quick is None
    model.eval()
