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
from transformer_core.errors import CheckpointError
from transformer_core.model.positions import sinusoidal_table

SIZES: dict[str, Any] = {"d_model": 24, "nhead": 3, "dim_feedforward": 40, "dropout": 0.0, "batch_first": True}
CONFIG = {"model_type": "torch_transformer", "n_heads": 3, "embedding": "embed.weight"}


class Translator(nn.Module):
    """A model as tutorials build it around torch.nn.Transformer."""

    pe: Tensor

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.embed = nn.Embedding(61, 24)
        self.register_buffer("pe", torch.randn(1, 30, 24))
        with warnings.catch_warnings(action="ignore"):  # of a quicker way that it cannot go
            self.transformer = nn.Transformer(num_encoder_layers=2, num_decoder_layers=3, **SIZES, **options)
        self.out = nn.Linear(24, 61)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        ahead = torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool()
        x, y = (self.embed(tokens) + self.pe[:, : tokens.shape[1]] for tokens in (src, tgt))
        return self.out(self.transformer(x, y, tgt_mask=ahead))


class Encoder(nn.Module):
    """A model around torch.nn.TransformerEncoder; with a causal mask it continues its text."""

    def __init__(self, *, is_causal: bool, has_head: bool, **options: Any) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.token_embedding = nn.Embedding(61, 24)
        layer = nn.TransformerEncoderLayer(**SIZES, **options)
        norm = nn.LayerNorm(24) if options.get("norm_first") else None
        self.encoder = nn.TransformerEncoder(layer, 2, norm=norm, enable_nested_tensor=False)
        self.head = nn.Linear(24, 61, bias=False) if has_head else None

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        mask = torch.ones(n, n).triu(1).bool() if self.is_causal else None
        position = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, 24, 2) / 24)
        table = torch.stack([position.sin(), position.cos()], dim=-1).flatten(1)
        states = self.encoder(self.token_embedding(tokens) * math.sqrt(24) + table, mask=mask)
        return states if self.head is None else self.head(states)


def shaken(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    return model.eval()


@pytest.fixture(autouse=True)
def one_seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(("norm_first", "is_safe"), [(False, True), (True, False)])
def test_an_encoder_decoder(norm_first: bool, is_safe: bool, tmp_path: Path):
    theirs = shaken(Translator(norm_first=norm_first, activation="gelu"))
    state = {name: weight.contiguous() for name, weight in theirs.state_dict().items()}
    save_file(state, tmp_path / "weights.safetensors") if is_safe else torch.save(state, tmp_path / "weights.pt")
    config = CONFIG | {"output": "out.weight", "position_table": "pe", "norm_first": norm_first, "activation": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, _ = tc.load(add_tokenizer(tmp_path))
    src, tgt = torch.randint(0, 61, (2, 9)), torch.randint(0, 61, (2, 7))
    with torch.inference_mode():
        torch.testing.assert_close(model(src, tgt), theirs(src, tgt), rtol=1e-4, atol=1e-4)
    tc.save(tmp_path / "ours", model, tc.load(tmp_path)[1])
    assert torch.equal(tc.load(tmp_path / "ours")[0](src, tgt), model(src, tgt))


@pytest.mark.parametrize(
    ("is_causal", "has_head", "options"),
    [(False, True, {}), (False, False, {"bias": False}), (True, True, {"norm_first": True})],
)
def test_an_encoder_alone(is_causal: bool, has_head: bool, options: dict[str, Any], tmp_path: Path):
    theirs = shaken(Encoder(is_causal=is_causal, has_head=has_head, **options))
    torch.save({"state_dict": theirs.state_dict(), "epoch": 3}, tmp_path / "best.pth")
    config = CONFIG | {"embedding": "token_embedding.weight", "positions": "sinusoidal_interleaved"}
    config |= {"scale_embeddings": True, "causal": is_causal, "norm_first": options.get("norm_first", False)}
    config |= {"output": "head.weight"} if has_head else {}
    (tmp_path / "config.json").write_text(json.dumps(config))
    add_tokenizer(tmp_path)
    model, _ = tc.load(tmp_path / "best.pth")
    tokens = torch.randint(0, 61, (2, 9))
    assert model.config.architecture == ("decoder_only" if is_causal else "encoder_only")
    with torch.inference_mode():
        output = model(tokens) if has_head else model.final_states(tokens)
        torch.testing.assert_close(output, theirs(tokens), rtol=1e-4, atol=1e-4)


class OwnTables(Translator):
    """A translator whose source and target have an embedding and a table of positions each."""

    def __init__(self, n_target: int = 61) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(self.transformer.encoder.layers)  # the encoder as a list of its layers
        self.transformer.encoder = self.embed = self.pe = None  # type: ignore[assignment]
        self.tgt_emb, self.src_emb = nn.Embedding(n_target, 24), nn.Embedding(61, 24)
        self.src_pos, self.tgt_pos = nn.Embedding(30, 24), nn.Embedding(30, 24)
        self.norm, self.out = nn.LayerNorm(24), nn.Linear(24, n_target)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory, y = self.src_emb(src) + self.src_pos.weight[: src.shape[1]], self.tgt_emb(tgt)
        for block in self.blocks:
            memory = block(memory)
        ahead = torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool()
        states = self.transformer.decoder(y + self.tgt_pos.weight[: tgt.shape[1]], self.norm(memory), tgt_mask=ahead)
        return self.out(states)


class Tutorial(Encoder):
    """An encoder with its sinusoidal positions in a buffer, as in PyTorch's tutorial, and a classifier beside."""

    def __init__(self, *, is_causal: bool) -> None:
        super().__init__(is_causal=is_causal, has_head=True)
        self.pos_encoder = nn.Module()
        self.pos_encoder.register_buffer("pe", sinusoidal_table(40, 24)[:, None])
        self.judge = nn.Linear(24, 2)


@pytest.mark.parametrize(
    ("theirs", "lacking"),
    [
        (lambda: Translator(norm_first=True), {"norm_first": True}),
        (OwnTables, {}),
        (lambda: nn.ModuleDict({"module": Tutorial(is_causal=True)}), {"causal": True, "scale_embeddings": True}),
        (lambda: Tutorial(is_causal=False), {"causal": False, "scale_embeddings": True}),
    ],
)
def test_the_hint_becomes_a_config_that_loads_once_its_gaps_are_filled(
    theirs: Callable[[], nn.Module], lacking: dict[str, Any], tmp_path: Path
):
    model = shaken(theirs())
    torch.save(model.state_dict(), tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="not how they are connected") as caught:
        tc.load(tmp_path)
    hint = str(caught.value).partition("for each ?: ")[2].partition("; add norm_first")[0]
    assert '"n_heads": ?' in hint and ('"causal": ?' in hint) == ("causal" in lacking)
    config = json.loads(hint.replace(": ?", ": null")) | {"n_heads": 3} | lacking
    (tmp_path / "config.json").write_text(json.dumps(config))
    ours, _ = tc.load(add_tokenizer(tmp_path))
    tokens = [
        torch.randint(0, 61, (2, n)) for n in (9, 7)[: 2 if ours.config.has_encoder and ours.config.has_decoder else 1]
    ]
    with torch.inference_mode():
        expected = (model["module"] if isinstance(model, nn.ModuleDict) else model)(*tokens)
        torch.testing.assert_close(ours(*tokens), expected, rtol=1e-4, atol=1e-4)
    if "scale_embeddings" in lacking:  # the buffer is the table that is computed
        assert (ours.config.positions, ours.config.max_seq_len) == ("sinusoidal_interleaved", 40)
        assert "does not contain the positions" in refusal_of(tmp_path, config | {"positions": "sinusoidal_halves"})


def test_two_vocabularies_are_refused_as_such(tmp_path: Path):
    torch.save(OwnTables(n_target=50).state_dict(), tmp_path / "model.pt")
    config = CONFIG | {"embedding": ["src_emb.weight", "tgt_emb.weight"], "output": "out.weight"}
    config |= {"position_table": ["src_pos.weight", "tgt_pos.weight"]}
    message = refusal_of(tmp_path, config)
    assert "has a vocabulary of 61 tokens for its source and one of 50 for its target" in message


def refusal_of(folder: Path, config: dict[str, Any]) -> str:
    """The sentence with which a model with this config.json is refused."""
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError) as caught:
        tc.load(folder)
    return str(caught.value)


def refusal(folder: Path, **changes: Any) -> str:
    """The sentence with which a translator is refused whose config.json does not match the format; None leaves out."""
    config = CONFIG | {"output": "out.weight", "position_table": "pe"} | changes
    return refusal_of(folder, {name: value for name, value in config.items() if value is not None})


def test_what_is_missing_is_asked_for_by_name(tmp_path: Path):
    torch.save(Translator().state_dict(), tmp_path / "model.pt")
    add_tokenizer(tmp_path)
    with pytest.raises(CheckpointError, match="not how they are connected") as caught:
        tc.load(tmp_path)
    assert '"embedding": "embed.weight", "output": "out.weight"' in str(caught.value)  # an example to begin with
    for changes, message in (
        ({"embedding": "emb"}, "has no weight 'emb'"),
        ({"embedding": None}, "embedding = None"),
        ({"n_heads": None}, "lacks n_heads"),
        ({"output": None}, "output = None"),
        ({"position_table": None}, "positions = None"),
        ({"n_heads": 7}, "must be divisible by n_heads (7)"),
        ({"use_rope": True}, "use_rope = True"),
    ):
        assert message in refusal(tmp_path, **changes)
