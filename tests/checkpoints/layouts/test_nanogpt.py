"""nanoGPT's ckpt.pt, against that model written down once more in plain torch."""

import json
import pickle
import sys
import zipfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import transformer_core as tc
from tests.checkpoints.test_load import add_tokenizer
from tests.checkpoints.test_pickles import Hostile
from transformer_core.checkpoints import archive
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.checkpoints.candidates import candidate_losses
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.checkpoints.nearest import UnknownLayoutError
from transformer_core.errors import CheckpointError, TextError

ARGS: dict[str, Any] = {"n_layer": 2, "n_head": 3, "n_embd": 36, "block_size": 20, "vocab_size": 61, "dropout": 0.0}
OPTIMIZER = {"state": {0: {"exp_avg": torch.ones(3)}}, "param_groups": [{"betas": (0.9, 0.95), "lr": 1e-3}]}


def layer_norm(x: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights.get(f"{name}.bias"), 1e-5)


def linear(x: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    return F.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))


def nanogpt(tokens: Tensor, weights: dict[str, Tensor], *, gelu: str = "none") -> Tensor:
    """The logits of a nanoGPT with these weights."""
    n = tokens.shape[1]
    x = weights["transformer.wte.weight"][tokens] + weights["transformer.wpe.weight"][:n]
    for i in range(ARGS["n_layer"]):
        h = f"transformer.h.{i}"
        q, k, v = linear(layer_norm(x, weights, f"{h}.ln_1"), weights, f"{h}.attn.c_attn").split(36, dim=2)
        q, k, v = (part.unflatten(-1, (3, 12)).transpose(1, 2) for part in (q, k, v))
        scores = (q @ k.transpose(-2, -1) / 12**0.5).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
        x = x + linear((scores.softmax(-1) @ v).transpose(1, 2).flatten(2), weights, f"{h}.attn.c_proj")
        inner = F.gelu(linear(layer_norm(x, weights, f"{h}.ln_2"), weights, f"{h}.mlp.c_fc"), approximate=gelu)
        x = x + linear(inner, weights, f"{h}.mlp.c_proj")
    return layer_norm(x, weights, "transformer.ln_f") @ weights["lm_head.weight"].T


def weights_of(*, bias: bool) -> dict[str, Tensor]:
    """A state dict as nanoGPT has it, every number random; the head is the embedding."""
    shapes: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (61, 36), "transformer.wpe.weight": (20, 36)}
    parts: dict[str, tuple[int, ...]] = {"ln_1": (36,), "attn.c_attn": (108, 36), "attn.c_proj": (36, 36)}
    parts |= {"ln_2": (36,), "mlp.c_fc": (144, 36), "mlp.c_proj": (36, 144)}
    named = {f"transformer.h.{i}.{name}": shape for i in range(2) for name, shape in parts.items()}
    for name, shape in (named | {"transformer.ln_f": (36,)}).items():
        shapes[f"{name}.weight"] = shape
        if bias:
            shapes[f"{name}.bias"] = shape[:1]
    generator = torch.Generator().manual_seed(3)
    weights = {name: torch.randn(shape, generator=generator) * 0.3 for name, shape in shapes.items()}
    return weights | {"lm_head.weight": weights["transformer.wte.weight"]}


def save(
    path: Path, weights: dict[str, Tensor], *, prefix: str = "", optimizer: dict[str, Any] = OPTIMIZER, **args: Any
) -> None:
    """Write a ckpt.pt as nanoGPT's training does, with an optimizer's numbers beside the model."""
    checkpoint = {
        "model": {prefix + name: weight for name, weight in weights.items()},
        "optimizer": optimizer,
        "model_args": {**ARGS, **args},
        "iter_num": 2000,
        "best_val_loss": torch.tensor(1.47),
        "config": {"dataset": "shakespeare_char", "learning_rate": 1e-3, "compile": True},
    }
    torch.save(checkpoint, path)


@pytest.mark.parametrize(("bias", "prefix"), [(True, "_orig_mod."), (False, "module."), (None, "")])
def test_the_logits_are_nanogpts(bias: bool | None, prefix: str, tmp_path: Path):
    """An older file says nothing of biases, holds the mask, and its GELU is that of tanh."""
    weights, tokens = weights_of(bias=bias is not False), torch.randint(0, 61, (2, 17))
    (tmp_path / "out").mkdir()
    masks = {f"transformer.h.{i}.attn.bias": torch.ones(1, 1, 20, 20).tril() for i in range(2)}
    options: dict[str, Any] = {} if bias is None else {"bias": bias}
    save(tmp_path / "out" / "ckpt.pt", weights | ({} if options else masks), prefix=prefix, **options)
    add_tokenizer(tmp_path / "out")
    expected = nanogpt(tokens, weights, gelu="tanh" if bias is None else "none")
    assert expected.std() > 0.5
    for source in (tmp_path / "out", tmp_path / "out" / "ckpt.pt"):
        with torch.inference_mode():
            torch.testing.assert_close(tc.load(source)[0](tokens), expected, rtol=1e-4, atol=1e-4)


def test_without_a_tokenizer_it_reads_ids_also_as_an_upload(tmp_path: Path):
    """A file of torch.save is a zip file itself, and is read directly; packed with other files it is found."""
    weights, tokens = weights_of(bias=False), torch.tensor([[5, 6, 7]])
    save(tmp_path / "ckpt.pt", weights, bias=False)
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as packed:
        packed.write(tmp_path / "ckpt.pt", "out/ckpt.pt")
    for name in ("ckpt.pt", "out.zip"):
        with (tmp_path / name).open("rb") as file:
            archive.unpack(file, tmp_path / f"from-{name}")
        model, tokenizer = tc.load(tmp_path / f"from-{name}")
        torch.testing.assert_close(model(tokens), nanogpt(tokens, weights), rtol=1e-4, atol=1e-4)
        assert tokenizer.encode_for("5 6 7", "decoder_only") == [5, 6, 7]


def test_the_characters_of_meta_pkl_are_read_and_nothing_of_it_is_run(tmp_path: Path):
    save(tmp_path / "ckpt.pt", weights_of(bias=False), bias=False)
    itos = dict(enumerate("\n " + "".join(map(chr, range(65, 124)))))
    meta = tmp_path / "meta.pkl"
    meta.write_bytes(pickle.dumps({"vocab_size": 61, "itos": itos, "stoi": {c: i for i, c in itos.items()}}))
    bring_in(str(tmp_path / "ckpt.pt"), tmp_path / "mine")
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as packed:
        packed.write(tmp_path / "ckpt.pt", "out/ckpt.pt")
        packed.write(meta, "out/meta.pkl")
    with (tmp_path / "out.zip").open("rb") as file:
        archive.unpack(file, tmp_path / "taken")
    for source in (tmp_path, tmp_path / "mine", tmp_path / "taken"):
        _, tokenizer = tc.load(source)
        assert tokenizer.encode_for("A z\n{", "decoder_only") == [2, 1, 59, 0, 60]
        assert tokenizer.decode([2, 1, 59, 0, 60]) == "A z\n{" and len(tokenizer.labels([0, 2])) == 2
        with pytest.raises(TextError, match="does not know é"):
            tokenizer.encode("né")
    mark = tmp_path / "ran"
    for content in (pickle.dumps({"itos": Hostile(mark)}), pickle.dumps({"itos": {1: "a"}}), b"", pickle.dumps(3)):
        meta.write_bytes(content)
        with pytest.raises(CheckpointError, match="does not contain the characters of a nanoGPT"):
            tc.load(tmp_path)
    assert not mark.exists()


def test_mingpt_has_the_gelu_of_tanh_and_its_heads_are_asked_for(tmp_path: Path):
    weights, tokens = weights_of(bias=True), torch.randint(0, 61, (2, 17))
    weights["lm_head.weight"] = torch.randn(61, 36)
    masks = {f"transformer.h.{i}.attn.bias": torch.ones(1, 1, 20, 20).tril() for i in range(2)}
    torch.save(weights | masks, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="no field 'heads'; did you mean n_heads"):
        tc.load(tmp_path, options={"heads": 6})
    with pytest.raises(UndecidedError, match=r"as nanoGPT/minGPT, .* n_heads; .* --set n_heads=\.\.\.\. ") as caught:
        tc.load(tmp_path)
    (question,) = caught.value.questions
    assert question.option == "n_heads" and set(question.candidates) == {1, 2, 3, 4, 6, 9}
    expected = nanogpt(tokens, weights, gelu="tanh")
    notes: list[Any] = []
    with torch.inference_mode():
        model = tc.load(tmp_path, options={"n_heads": 3}, on_note=notes.append)[0]
        torch.testing.assert_close(model(tokens), expected, rtol=1e-4, atol=1e-4)
        assert [str(note) for note in notes] == [
            "Read with the tanh approximation of GELU, as in minGPT.",
            "n_heads is 3, as chosen.",
        ]
        for config in (
            {"n_heads": 3},
            {"model_type": "nanogpt", "n_head": 3, "activation": "gelu_new"},
            {"system": {"seed": 3407}, "model": {"model_type": "gpt-nano", "n_head": None, "vocab_size": None}},
        ):
            (tmp_path / "config.json").write_text(json.dumps(config))
            torch.testing.assert_close(tc.load(tmp_path)[0](tokens), expected, rtol=1e-4, atol=1e-4)


def test_the_loss_on_a_text_of_the_model_tells_its_heads(tmp_path: Path):
    weights, ids = weights_of(bias=True), torch.tensor([[7]])
    weights["lm_head.weight"] = 3 * torch.randn(61, 36, generator=torch.Generator().manual_seed(4))
    for i in range(2):
        weights[f"transformer.h.{i}.attn.c_attn.weight"] *= 3  # so that the pattern of each head matters
    torch.save(weights, tmp_path / "model.pt")
    for _ in range(19):
        ids = torch.cat([ids, nanogpt(ids, weights, gelu="tanh")[:, -1:].argmax(-1)], dim=1)
    losses = candidate_losses(tmp_path / "model.pt", " ".join(map(str, ids[0].tolist())))
    assert losses[0].options == {"n_heads": 3} and len(losses) == 6
    expected = F.cross_entropy(nanogpt(ids, weights, gelu="tanh")[0, :-1], ids[0, 1:])
    assert losses[0].loss == pytest.approx(expected.item(), rel=1e-4) and losses[1].loss > losses[0].loss + 0.1
    assert candidate_losses(tmp_path / "model.pt", "1 2", options={"n_heads": 3}) == []
    assert len(candidate_losses(tmp_path / "model.pt", "1 2", max_seconds=0)) == 1
    with pytest.raises(TextError, match="at least two tokens"):
        candidate_losses(tmp_path / "model.pt", "1")


def test_the_nearest_layout_of_unknown_weights_is_named(tmp_path: Path):
    weights = {f"net.{key.replace('c_attn', 'all')}": weight for key, weight in weights_of(bias=True).items()}
    torch.save(weights | {"net.h.0.x": torch.ones(1)}, tmp_path / "a.pt")
    with pytest.raises(UnknownLayoutError, match="nearest is nanoGPT/minGPT, with 15 of 17 names") as caught:
        tc.load(tmp_path)
    assert caught.value.nearest is not None
    assert caught.value.nearest.missing == ("transformer.h.*.attn.c_attn.bias", "transformer.h.*.attn.c_attn.weight")
    assert "net.h.*.x" in caught.value.nearest.unknown and len(caught.value.nearest.unknown) == 3
    names = ["input_layernorm", "post_attention_layernorm", *(f"self_attn.{name}_proj" for name in "qkvo")]
    names = [f"layers.0.{name}" for name in (*names, *(f"mlp.{name}_proj" for name in ("gate", "up", "down")))]
    of_llama = {f"model.{name}.weight": torch.ones(2, 2) for name in ("embed_tokens", "norm", *names)}
    torch.save(of_llama, tmp_path / "a.pt")
    with pytest.raises(UnknownLayoutError, match=r"has no config\.json; its weights have the names of the tr"):
        tc.load(tmp_path)
    torch.save({"layers.0.weight": torch.ones(2, 2)}, tmp_path / "a.pt")
    with pytest.raises(UnknownLayoutError, match="of no known layout, so its architecture is unknown"):
        tc.load(tmp_path)


def test_a_model_in_memory_keeps_its_settings() -> None:
    """They answer the question for its heads; the kind of its GELU is that of its module."""
    theirs, tokens = torch.nn.Module(), torch.randint(0, 61, (2, 17))
    for name, weight in (weights := weights_of(bias=True)).items():
        *path, last = name.split(".")
        module: torch.nn.Module = theirs
        for part in path:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module.get_submodule(part)
        module.register_buffer(last, weight)
    theirs.get_submodule("transformer.h.0.mlp").add_module("gelu", torch.nn.GELU(approximate="tanh"))
    theirs.config = SimpleNamespace(n_head=3, n_layer=2, bias=True, own=object())  # type: ignore[assignment]
    ours = tc.load(theirs)[0]
    torch.testing.assert_close(ours(tokens), nanogpt(tokens, weights, gelu="tanh"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("n_decayed", "gelu"), [(8, "tanh"), (10, "none")])
def test_the_optimizer_of_a_nanogpt_tells_its_gelu(n_decayed: int, gelu: str, tmp_path: Path):
    """Until 2023-05-06 its embeddings were in the group without weight decay."""
    weights, tokens = weights_of(bias=True), torch.randint(0, 61, (2, 17))
    groups = [{"params": [*range(n_decayed)]}, {"params": [*range(n_decayed, 28)]}]
    save(tmp_path / "ckpt.pt", weights, bias=True, optimizer={"state": {}, "param_groups": groups})
    model = tc.load(tmp_path)[0]
    torch.testing.assert_close(model(tokens), nanogpt(tokens, weights, gelu=gelu), rtol=1e-4, atol=1e-4)


def test_the_settings_of_build_nanogpt_are_read_without_their_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    @dataclass
    class GPTConfig:
        block_size: int = 20
        vocab_size: int = 61
        n_layer: int = 2
        n_head: int = 3
        n_embd: int = 36

        def __setstate__(self, state: dict[str, Any]) -> None:
            raise AssertionError("its code was run")

    GPTConfig.__qualname__, GPTConfig.__module__ = "GPTConfig", "__main__"
    weights, tokens = weights_of(bias=True), torch.randint(0, 61, (2, 17))
    with monkeypatch.context() as patched:
        patched.setattr(sys.modules["__main__"], "GPTConfig", GPTConfig, raising=False)
        torch.save(
            {"model": weights, "config": GPTConfig(), "step": 5000, "val_loss": 3.1}, tmp_path / "model_05000.pt"
        )
        notes: list[Any] = []
        model = tc.load(tmp_path, on_note=notes.append)[0]
    torch.testing.assert_close(model(tokens), nanogpt(tokens, weights, gelu="tanh"), rtol=1e-4, atol=1e-4)
    assert [str(note) for note in notes] == ["Read with the tanh approximation of GELU, as in build-nanogpt."]


@pytest.mark.parametrize("prefix", ["transformer.", ""])
def test_a_gpt2_without_its_config(prefix: str, tmp_path: Path):
    """Its linear layers are transposed; without a prefix it has no output layer, which is the embedding."""
    weights, tokens = weights_of(bias=True), torch.randint(0, 61, (2, 17))
    layers = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    theirs = {key: weight.T.contiguous() if key.endswith(layers) else weight for key, weight in weights.items()}
    theirs = {key.replace("transformer.", prefix): theirs[key] for key in theirs if prefix or key != "lm_head.weight"}
    torch.save(theirs, tmp_path / "pytorch_model.bin")
    model = tc.load(tmp_path, options={"n_heads": 3})[0]
    torch.testing.assert_close(model(tokens), nanogpt(tokens, weights, gelu="tanh"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("qkv_bias", [True, False])
def test_the_gpt_model_of_raschkas_book(qkv_bias: bool, tmp_path: Path):
    """The same numbers under the names of the book are the same model."""
    weights, tokens = weights_of(bias=True), torch.randint(0, 61, (2, 17))
    theirs = {"tok_emb.weight": weights["transformer.wte.weight"], "pos_emb.weight": weights["transformer.wpe.weight"]}
    theirs |= {
        "final_norm.scale": weights["transformer.ln_f.weight"],
        "final_norm.shift": weights["transformer.ln_f.bias"],
    }
    theirs["out_head.weight"] = weights["lm_head.weight"] = torch.randn(61, 36)
    for i in range(2):
        if not qkv_bias:
            weights[f"transformer.h.{i}.attn.c_attn.bias"].zero_()
        for part in ("weight", "bias"):
            ours, block = (lambda name, i=i, part=part: weights[f"transformer.h.{i}.{name}.{part}"]), f"trf_blocks.{i}"
            names = [f"{block}.att.W_{name}.{part}" for name in ("query", "key", "value")]
            if qkv_bias or part == "weight":
                theirs |= dict(zip(names, ours("attn.c_attn").split(36), strict=True))
            theirs |= {
                f"{block}.att.out_proj.{part}": ours("attn.c_proj"),
                f"{block}.ff.layers.0.{part}": ours("mlp.c_fc"),
            }
            norm = "scale" if part == "weight" else "shift"
            theirs |= {f"{block}.ff.layers.2.{part}": ours("mlp.c_proj"), f"{block}.norm1.{norm}": ours("ln_1")}
            theirs |= {f"{block}.norm2.{norm}": ours("ln_2"), f"{block}.att.mask": torch.ones(20, 20).triu(1)}
    torch.save({"model_state_dict": theirs, "optimizer_state_dict": {}}, tmp_path / "model_and_optimizer.pth")
    with pytest.raises(
        UndecidedError, match="recognized as Raschka's GPTModel, but its files do not determine n_heads"
    ):
        tc.load(tmp_path)
    expected = nanogpt(tokens, weights, gelu="tanh")
    with torch.inference_mode():
        torch.testing.assert_close(tc.load(tmp_path, options={"n_heads": 3})[0](tokens), expected, rtol=1e-4, atol=1e-4)
        of_the_book = {"vocab_size": 61, "context_length": 20, "emb_dim": 36, "n_heads": 3, "n_layers": 2}
        (tmp_path / "config.json").write_text(json.dumps({**of_the_book, "drop_rate": 0.1, "qkv_bias": qkv_bias}))
        model = tc.load(tmp_path)[0]
        torch.testing.assert_close(model(tokens), expected, rtol=1e-4, atol=1e-4)
        fast = {key.replace("scale", "weight").replace("shift", "bias"): weight for key, weight in theirs.items()}
        fast = {key.replace("att.out_proj", "att.proj"): weight for key, weight in fast.items() if ".att.W_" not in key}
        for i, part in product(range(2), ("weight", "bias") if qkv_bias else ("weight",)):
            fast[f"trf_blocks.{i}.att.qkv.{part}"] = weights[f"transformer.h.{i}.attn.c_attn.{part}"]
        torch.save(fast, tmp_path / "model_and_optimizer.pth")  # of GPTModelFast
        torch.testing.assert_close(tc.load(tmp_path)[0](tokens), expected, rtol=1e-4, atol=1e-4)
        theirs |= {"out_head.weight": torch.randn(2, 36), "out_head.bias": torch.randn(2)}  # of a classifier
        torch.save(theirs, tmp_path / "model_and_optimizer.pth")
        notes: list[Any] = []
        states = tc.load(tmp_path, on_note=notes.append)[0].final_states(tokens)
        assert torch.equal(states, model.final_states(tokens))
        assert str(notes[-1]) == "Its classification head is not used: out_head.weight."


def test_options_that_do_not_fit_are_named(tmp_path: Path):
    add_tokenizer(tmp_path)
    save(tmp_path / "ckpt.pt", weights_of(bias=True), n_layer=3)
    with pytest.raises(CheckpointError, match=r"lacks the weight 'transformer\.h\.2\.ln_1\.weight'"):
        tc.load(tmp_path)
    save(tmp_path / "ckpt.pt", weights_of(bias=True), attention_sinks=4)
    with pytest.raises(CheckpointError, match="attention_sinks = 4 is not supported"):
        tc.load(tmp_path)
    save(tmp_path / "ckpt.pt", weights_of(bias=True))
    with pytest.raises(CheckpointError, match=r"cannot be built with these options: .* no field 'n_head'"):
        tc.load(tmp_path, options={"n_head": 3})
    with pytest.raises(CheckpointError, match=r"d_model.* must be divisible by n_heads"):
        tc.load(tmp_path, options={"n_heads": 5})
    with pytest.raises(CheckpointError, match="complete configuration, so n_heads cannot be set"):
        tc.load("checkpoints/en-fr", options={"n_heads": 4})
