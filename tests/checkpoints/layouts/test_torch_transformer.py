"""State dicts of torch.nn.Transformer and TransformerEncoder, against those modules themselves."""

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

import transformer_core as tc
from tests.checkpoints.test_load import add_tokenizer
from tests.model.building import shaken
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.errors import CheckpointError
from transformer_core.model.positions import sinusoidal_table

SIZES: dict[str, Any] = {"d_model": 24, "nhead": 3, "dim_feedforward": 40, "dropout": 0.0, "batch_first": True}
CONFIG = {"model_type": "torch_transformer", "n_heads": 3, "embedding": "embed.weight"}
N_POSITIONS = 90


def causal(n: int) -> Tensor:
    return torch.ones(n, n).triu(1).bool()


class Translator(nn.Module):
    """A model as tutorials build it around torch.nn.Transformer."""

    pe: Tensor

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.embed = nn.Embedding(61, 24)
        self.register_buffer("pe", torch.randn(1, N_POSITIONS, 24))
        with warnings.catch_warnings(action="ignore"):  # of a quicker way that it cannot go
            self.transformer = nn.Transformer(num_encoder_layers=2, num_decoder_layers=3, **SIZES, **options)
        self.out = nn.Linear(24, 61)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x, y = (self.embed(tokens) + self.pe[:, : tokens.shape[1]] for tokens in (src, tgt))
        return self.out(self.transformer(x, y, tgt_mask=causal(tgt.shape[1])))


class Encoder(nn.Module):
    """A model around torch.nn.TransformerEncoder; with a causal mask it continues its text."""

    def __init__(self, *, is_causal: bool, has_head: bool, has_norm: bool = True, **options: Any) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.token_embedding = nn.Embedding(61, 24)
        layer = nn.TransformerEncoderLayer(**SIZES, **options)
        norm = nn.LayerNorm(24) if options.get("norm_first") and has_norm else None
        self.encoder = nn.TransformerEncoder(layer, 2, norm=norm, enable_nested_tensor=False)
        self.head = nn.Linear(24, 61, bias=False) if has_head else None

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        position = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, 24, 2) / 24)
        table = torch.stack([position.sin(), position.cos()], dim=-1).flatten(1)
        x = self.token_embedding(tokens) * math.sqrt(24) + table
        states = self.encoder(x, mask=causal(n) if self.is_causal else None)
        return states if self.head is None else self.head(states)


class OwnTables(Translator):
    """A translator whose source and target have a vocabulary and a table of positions each."""

    def __init__(self, n_target: int = 61) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(self.transformer.encoder.layers)  # the encoder as a list of its layers
        self.transformer.encoder = self.embed = self.pe = None  # type: ignore[assignment]
        self.tgt_emb, self.src_emb = nn.Embedding(n_target, 24), nn.Embedding(61, 24)
        self.src_pos, self.tgt_pos = nn.Embedding(N_POSITIONS + 5, 24), nn.Embedding(N_POSITIONS, 24)
        self.norm, self.out = nn.LayerNorm(24), nn.Linear(24, n_target)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory, y = self.src_emb(src) + self.src_pos.weight[: src.shape[1]], self.tgt_emb(tgt)
        for block in self.blocks:
            memory = block(memory)
        y = y + self.tgt_pos.weight[: tgt.shape[1]]
        return self.out(self.transformer.decoder(y, self.norm(memory), tgt_mask=causal(tgt.shape[1])))


class Tied(Translator):
    """A translator with one matrix for embeddings and output."""

    def __init__(self) -> None:
        super().__init__()
        self.out.weight = self.embed.weight


class Tutorial(Encoder):
    """An encoder with its sinusoidal positions in a buffer, as in PyTorch's tutorial, and a classifier beside."""

    def __init__(self, *, is_causal: bool) -> None:
        super().__init__(is_causal=is_causal, has_head=True)
        self.pos_encoder = nn.Module()
        self.pos_encoder.register_buffer("pe", sinusoidal_table(N_POSITIONS, 24)[:, None])
        self.judge = nn.Linear(24, 2)


@pytest.fixture(autouse=True)
def one_seed() -> None:
    torch.manual_seed(0)


HEADS = {"n_heads": 3}
POST, PRE = {"norm_position": "post", "activation": "relu"}, {"norm_position": "pre", "activation": "gelu"}
SINUSOIDS, DECODER = {"scale_embeddings": True}, {"architecture": "decoder_only"}
COMPUTED = SINUSOIDS | {"positions": "sinusoidal_interleaved"}
MODELS: dict[str, tuple[Callable[[], nn.Module], dict[str, Any]]] = {  # with the answers to all questions
    "translator": (lambda: Translator(norm_first=True, activation="gelu"), HEADS | PRE),
    "translator, post-norm": (Translator, HEADS | POST),
    "translator, two vocabularies": (lambda: OwnTables(50), HEADS | POST),
    "translator, tied": (Tied, HEADS | POST),
    "encoder": (lambda: Encoder(is_causal=False, has_head=False, bias=False), HEADS | POST | COMPUTED),
    "decoder without a last norm": (
        lambda: Encoder(is_causal=True, has_head=True, has_norm=False, norm_first=True, activation="gelu"),
        HEADS | PRE | COMPUTED | DECODER,
    ),
    "tutorial": (lambda: Tutorial(is_causal=True), HEADS | POST | SINUSOIDS | DECODER),
    "tutorial, masked": (
        lambda: nn.ModuleDict({"module": Tutorial(is_causal=False)}),
        HEADS | POST | SINUSOIDS | {"architecture": "encoder_only"},
    ),
}


def patterns_of(model: nn.Module, tokens: tuple[Tensor, ...]) -> tuple[Tensor, list[Tensor]]:
    """The output of torch's modules, and the pattern of each attention, of each head."""
    patterns: list[Tensor] = []

    def with_weights(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, kwargs | {"need_weights": True, "average_attn_weights": False}

    attentions = [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]
    handles = [attention.register_forward_pre_hook(with_weights, with_kwargs=True) for attention in attentions]
    handles += [a.register_forward_hook(lambda _, __, output: patterns.append(output[1])) for a in attentions]
    torch.backends.mha.set_fastpath_enabled(False)
    output = model(*tokens)
    torch.backends.mha.set_fastpath_enabled(True)
    for handle in handles:
        handle.remove()
    return output, patterns


@pytest.mark.parametrize("name", MODELS)
def test_a_model_opens_once_its_questions_are_answered(name: str, tmp_path: Path):
    build, answers = MODELS[name]
    theirs = shaken(build())
    torch.save({"state_dict": theirs.state_dict(), "epoch": 3}, tmp_path / "best.pth")
    with pytest.raises(UndecidedError) as caught:
        tc.load(tmp_path)
    assert {question.option for question in caught.value.questions} == answers.keys()
    ours, _ = tc.load(tmp_path, options=answers)
    theirs = theirs["module"] if isinstance(theirs, nn.ModuleDict) else theirs
    is_pair = ours.encoder is not None and ours.decoder is not None
    for lengths in ((9, 7), (80, 64)):
        sizes = (ours.config.input_vocab_size, ours.config.vocab_size)[: 2 if is_pair else 1]
        tokens = tuple(torch.randint(0, size, (2, n)) for size, n in zip(sizes, lengths, strict=False))
        with torch.inference_mode(), tc.capture(ours, "*.hook_pattern") as acts:
            output = ours(*tokens) if ours.config.unembed else ours.final_states(*tokens)
            expected, patterns = patterns_of(theirs, tokens)
        torch.testing.assert_close(output, expected, rtol=0, atol=1e-5)
        for pattern, their_pattern in zip(acts.values(), patterns, strict=True):
            torch.testing.assert_close(pattern, their_pattern, rtol=0, atol=1e-5)
    tc.save(tmp_path / "ours", ours, tc.load(tmp_path, options=answers)[1])
    again, tokenizer = tc.load(tmp_path / "ours")
    assert again.config == ours.config and tokenizer.target.vocab_size == ours.config.vocab_size


def test_a_config_beside_names_parts_and_answers_with_torchs_defaults(tmp_path: Path):
    theirs = shaken(Translator(norm_first=True))
    save_file({name: weight.contiguous() for name, weight in theirs.state_dict().items()}, tmp_path / "w.safetensors")
    config = CONFIG | {"output": "out.weight", "position_table": "pe", "norm_first": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, _ = tc.load(add_tokenizer(tmp_path))
    src, tgt = torch.randint(0, 61, (2, 9)), torch.randint(0, 61, (2, 7))
    with torch.inference_mode():
        torch.testing.assert_close(model(src, tgt), theirs(src, tgt), rtol=0, atol=1e-5)


def refusal(folder: Path, **changes: Any) -> str:
    """The sentence with which a translator is refused whose config.json does not match the format; None leaves out."""
    config = CONFIG | {"output": "out.weight", "position_table": "pe"} | changes
    (folder / "config.json").write_text(json.dumps({name: value for name, value in config.items() if value}))
    with pytest.raises(CheckpointError) as caught:
        tc.load(folder)
    return str(caught.value)


def test_what_is_wrong_or_unclear_is_named(tmp_path: Path):
    theirs = Translator()
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    for changes, message in (
        ({"embedding": "emb"}, "has no weight 'emb'"),
        ({"n_heads": None}, "do not determine n_heads"),
        ({"n_heads": 7}, "must be divisible by n_heads (7)"),
        ({"output": "embed.weight", "embedding": "embed.weight", "ignored": ["nope"]}, "has no weight 'nope'"),
        ({"use_rope": True}, "use_rope = True"),
    ):
        assert message in refusal(tmp_path, **changes)
    theirs.other_embed = nn.Embedding(61, 24)
    theirs.third_embed = nn.Embedding(61, 24)
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    assert "do not show which is the token embedding" in refusal(tmp_path, embedding=None)
    torch.save(theirs.transformer.state_dict(), tmp_path / "model.pt")
    assert "no token embedding of their width" in refusal(tmp_path, embedding=None, output=None, position_table=None)


@pytest.mark.parametrize(("options", "key"), [({"kdim": 20}, "q_proj_weight"), ({"add_bias_kv": True}, "bias_k")])
def test_attention_with_other_parameters_is_refused_by_name(options: dict[str, Any], key: str, tmp_path: Path):
    theirs = Translator()
    theirs.transformer.decoder.layers[0].multihead_attn = nn.MultiheadAttention(24, 3, **options)
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=key):
        tc.load(tmp_path, options=HEADS | POST)


def test_a_decoder_without_its_encoder_is_refused(tmp_path: Path):
    layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(**SIZES), 2)
    torch.save(nn.ModuleDict({"embed": nn.Embedding(61, 24), "net": layers}).state_dict(), tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=r"net\.layers \(decoder\)"):
        tc.load(tmp_path)
