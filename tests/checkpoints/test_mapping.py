"""Weights of an unknown layout open with a mapping; each line that is wrong says why."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.layouts.test_nanogpt import weights_of
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.checkpoints.mapping.draft import draft
from transformer_core.checkpoints.mapping.layout import layout_of, problems
from transformer_core.checkpoints.mapping.rules import MOST_CHARACTERS, shapes_of
from transformer_core.checkpoints.nearest import UnknownLayoutError
from transformer_core.errors import CheckpointError

FolderOf = Callable[[str], Path]

GPT2 = """\
n_heads = 3  # not in the tensors
norm_position = pre
activation = gelu_tanh
pad_id = 0
tok.table = decoder.embed.weight
where.weight = decoder.pos_embed.table
layer.*.one.* = decoder.blocks.*.ln1.*
layer.*.mix.weight = decoder.blocks.*.self_attn.{q,k,v}.weight T
layer.*.mix.bias = decoder.blocks.*.self_attn.{q, k, v}.bias
layer.*.out.weight = decoder.blocks.*.self_attn.out.weight  T
layer.*.out.bias = decoder.blocks.*.self_attn.out.bias
layer.*.grow.weight = decoder.blocks.*.mlp.up.weight T
layer.*.grow.bias = decoder.blocks.*.mlp.up.bias
layer.*.shrink.weight = decoder.blocks.*.mlp.down.weight T
layer.*.shrink.bias = decoder.blocks.*.mlp.down.bias
last.weight = decoder.ln_final.weight
last.bias = decoder.ln_final.bias
layer.*.rope_cache = -
"""
NEW_NAMES = {
    **{"transformer.wte.weight": "tok.table", "transformer.wpe": "where", "transformer.ln_f": "last"},
    **{"transformer.h": "layer", "attn.c_attn": "mix", "attn.c_proj": "out", "mlp.c_fc": "grow"},
    **{"mlp.c_proj": "shrink", "ln_1": "one", "ln_2": "two"},
}


@pytest.fixture(scope="session")
def renamed(folder_of: FolderOf) -> dict[str, Tensor]:
    """The weights of a small GPT-2 under names of nobody."""
    weights = {}
    for key, weight in foreign.read(folder_of("gpt2"))[1].items():
        for old, new in NEW_NAMES.items():
            key = key.replace(old, new)
        weights[key] = weight
    return weights | {f"layer.{i}.rope_cache": torch.ones(4) for i in range(3)}


@pytest.fixture
def place(renamed: dict[str, Tensor], tmp_path: Path) -> Path:
    save_file(renamed, tmp_path / "mine.safetensors")
    return tmp_path / "mine.safetensors"


def norms(text: str) -> str:
    """The lines of the norms, whose names end in two ways."""
    both = "\n".join(
        f"layer.*.{theirs}.{part} = decoder.blocks.*.{ours}.{part}"
        for theirs, ours in (("one", "ln1"), ("two", "ln2"))
        for part in ("weight", "bias")
    )
    return text.replace("layer.*.one.* = decoder.blocks.*.ln1.*", both)


def test_stacks_of_parts_and_lists_of_heads_are_split_and_joined(
    renamed: dict[str, Tensor], folder_of: FolderOf, tmp_path: Path
):
    text, weights = norms(GPT2), {**renamed, "where.weight": renamed["where.weight"][None]}
    for i in range(3):
        weights[f"layer.{i}.mix.weight"] = torch.stack(renamed[f"layer.{i}.mix.weight"].chunk(3, dim=1))
        weights[f"layer.{i}.mix.bias"] = renamed[f"layer.{i}.mix.bias"].reshape(3, -1)
    for part in ("weight", "bias"):  # a file sorts 10 before 2
        for i in range(3):
            for head, rows in enumerate(weights.pop(f"layer.{i}.grow.{part}").movedim(-1, 0).chunk(25)):
                weights[f"layer.{i}.grow.{head}.{part}"] = rows.contiguous()
        text = text.replace(f"layer.*.grow.{part}", f"layer.*.grow.*.{part}")
    save_file(weights, tmp_path / "mine.safetensors")
    theirs, tokens = foreign.ours(folder_of("gpt2")), foreign.batch("gpt2")
    ours, _ = tc.load(tmp_path / "mine.safetensors", options={"mapping": text.replace("up.weight T", "up.weight")})
    torch.testing.assert_close(ours(*tokens), theirs(*tokens))
    weights["layer.0.grow.3.bias"] = torch.ones(3)
    (problem, *_) = problems(text.replace("up.weight T", "up.weight"), shapes_of(weights), {})
    assert "layer.0.grow.0.bias and layer.0.grow.3.bias have different shapes" in str(problem.why)


def test_biases_that_only_some_layers_have_are_zero_in_the_others(renamed: dict[str, Tensor], tmp_path: Path):
    zero = {key: torch.zeros_like(renamed[key]) for key in renamed if re.search(r"(mix|two|grow)\.bias", key)}
    models = []
    for name, weights in {"zero": renamed | zero, "none": {k: renamed[k] for k in renamed.keys() - zero}}.items():
        save_file(weights, tmp_path / f"{name}.safetensors")
        lines = [
            line for line in norms(GPT2).splitlines() if name == "zero" or not re.search(r"(mix|two|grow)\.bias", line)
        ]
        models.append(tc.load(tmp_path / f"{name}.safetensors", options={"mapping": "\n".join(lines)})[0])
    assert models[0].config == models[1].config
    for (name, one), other in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one, other), name


def test_a_mapping_opens_the_same_model(place: Path, folder_of: FolderOf):
    theirs, tokens = foreign.ours(folder_of("gpt2")), foreign.batch("gpt2")
    ours, _ = tc.load(place, options={"mapping": norms(GPT2)})
    torch.testing.assert_close(ours(*tokens), theirs(*tokens))
    with pytest.raises(UndecidedError) as error:
        tc.load(place, options={"mapping": norms(GPT2).replace("n_heads = 3", "")})
    (question,) = error.value.questions
    assert question.option == "n_heads" and 3 in question.candidates
    answered, _ = tc.load(place, options={"mapping": norms(GPT2).replace("n_heads = 3", ""), "n_heads": 3})
    assert torch.equal(answered(*tokens), ours(*tokens))
    with pytest.raises(
        CheckpointError, match=r"line 7 of the mapping: the file has no layer\.\*\.one\.\*; the nearest"
    ):
        tc.load(place, options={"mapping": GPT2})


def test_a_prefix_may_be_only_in_the_mapping_or_only_in_the_file(renamed: dict[str, Tensor]):
    shapes = shapes_of(renamed)
    in_file = {f"net.model.{key}": shape for key, shape in shapes.items()}
    assert problems(norms(GPT2), in_file, {}) == []
    in_mapping = re.sub(r"^(\S+ = [-d])", r"model.\1", norms(GPT2), flags=re.MULTILINE)
    assert problems(f"{in_mapping}\nloss.weight = -", shapes, {}) == []
    two = {f"{name}.{key}": shape for name in ("student", "teacher") for key, shape in shapes.items()}
    assert "the file has no tok.table; the nearest" in str(problems(norms(GPT2), two, {})[0].why)


WRONG = {
    "n_heads 3": r"write a key of the file, =, and a name of ours",
    "tok.tabel = decoder.embed.weight": r"the file has no tok\.tabel; the nearest key is tok\.table",
    "layer.0.out.bias = decoder.blocks.*.self_attn.out.bias": r"both sides must have \*",
    "last.bias = ?": r"replace \? by a name of ours",
    "last.bias = -": r"last\.bias is mapped by an earlier line",
    "layer.0.rope_cache = decoder.ln_final.weight": r"decoder\.ln_final\.weight is filled by line \d+ already",
    "layer.0.rope_cache = decoder.blocks.0.mlp.upp.bias": r"there is no decoder.*; the nearest name is decoder\.blocks",
    "layer.1.rope_cache = a.{b,c,d}": r"has shape \(4,\), which cannot be split into 3 equal parts",
    "layer.1.rope_cache = decoder.ln_final.gain T": r"has shape \(4,\), which cannot be transposed",
    "a*******************b = c": r"at most 3 separate \*",
}


@pytest.mark.parametrize("line", WRONG)
def test_each_line_says_what_is_wrong_with_it(line: str, renamed: dict[str, Tensor]):
    text = norms(GPT2).replace("layer.*.rope_cache = -", "layer.2.rope_cache = -")
    missing = "layer.0.rope_cache = -\nlayer.1.rope_cache = -"
    lines = text.splitlines() + [one for one in missing.splitlines() if one.split()[0] != line.split()[0]]
    shapes = shapes_of(renamed)
    assert problems("\n".join(lines), shapes, {}) == [] or "rope_cache" in line
    (problem, *others) = problems("\n".join([*lines, line]), shapes, {})
    assert re.search(WRONG[line], str(problem.why)), [str(one.why) for one in (problem, *others)]
    assert problem.line == len(lines) + 1


def test_what_a_mapping_lacks(renamed: dict[str, Tensor]):
    shapes = shapes_of(renamed)
    text = norms(GPT2).replace("last.bias = decoder.ln_final.bias\n", "")
    assert [(one.line, str(one.why)) for one in problems(text, shapes, {})] == [
        (0, "last.bias of the file is not mapped; map it, or leave it out with = -"),
    ]
    text = norms(GPT2).replace("= decoder.blocks.*.mlp.down.weight T", "= -")
    assert "of our parameters get no tensor, such as decoder.blocks.0.mlp.down.weight" in str(
        problems(text, shapes, {})[-1].why
    )
    text = norms(GPT2).replace("last.bias = decoder.ln_final.bias\n", "")
    with pytest.raises(CheckpointError, match=r"the mapping: last\.bias of the file is not mapped"):
        layout_of(text, shapes, {})
    wide = norms(GPT2).replace("= decoder.blocks.*.mlp.up.weight T", "= decoder.blocks.*.mlp.up.weight")
    assert any("mlp.up.bias has shape (36,), but gets (50,)" in str(one.why) for one in problems(wide, shapes, {}))
    assert "too long" in str(problems("a" * (MOST_CHARACTERS + 1), shapes, {})[0].why)
    assert problems("", shapes, {}) and problems("n_heads = [[[", shapes, {})


def test_the_draft_of_an_unknown_layout_takes_over_what_fits(folder_of: FolderOf, tmp_path: Path):
    weights = {key.replace("ln_f", "last"): weight for key, weight in foreign.read(folder_of("gpt2"))[1].items()}
    save_file(weights, tmp_path / "mine.safetensors")
    with pytest.raises(UnknownLayoutError) as error:
        tc.load(tmp_path / "mine.safetensors")
    text = draft(error.value.shapes, error.value.nearest)
    assert "transformer.h.*.mlp.c_fc.weight = decoder.blocks.*.mlp.up.weight T" in text
    assert "transformer.h.*.attn.c_attn.weight = decoder.blocks.*.self_attn.{q,k,v}.weight T" in text
    assert "transformer.last.weight = decoder.ln_final.weight  # by shape; check" in text
    options = {"mapping": text, "n_heads": 3, "norm_position": "pre", "activation": "gelu_tanh", "pad_id": 0}
    tokens = foreign.batch("gpt2")
    ours, _ = tc.load(tmp_path / "mine.safetensors", options=options)
    torch.testing.assert_close(ours(*tokens), foreign.ours(folder_of("gpt2"))(*tokens))


def test_the_draft_tells_numbers_of_layers_from_those_of_parts():
    parts = {"q.weight": (8, 8), "w.weight": (8, 8), "ff.0.weight": (24, 8), "ff.2.weight": (8, 24)}
    shapes = {"words.weight": (50, 8), **{f"net.{i}.{key}": shape for i in range(2) for key, shape in parts.items()}}
    lines = draft(shapes, None).splitlines()
    assert "net.*.ff.0.weight = decoder.blocks.*.mlp.up.weight  # by shape; check" in lines
    assert "net.*.ff.2.weight = decoder.blocks.*.mlp.down.weight  # by shape; check" in lines
    assert "net.*.q.weight = decoder.blocks.*.self_attn.q.weight  # by name; check" in lines
    assert "net.*.w.weight = ?" in lines


def test_the_draft_takes_usual_words_and_tells_the_stacks_apart():
    attention = {**{f"to_{part}.weight": (8, 8) for part in "qkvo"}, "to_q.bias": (8,)}
    mlp = {"gate.weight": (24, 8), "lift.weight": (24, 8), "drop.weight": (8, 24)}
    norms = {f"n{i}.gain": (8,) for i in range(3)}
    reader = {**{f"look.{key}": shape for key, shape in attention.items()}, **mlp, "n0.gain": (8,), "n1.gain": (8,)}
    writer = {f"{kind}look.{key}": shape for kind in ("self", "cross") for key, shape in attention.items()}
    stacks = {"readers": reader, "writers": {**writer, **mlp, **norms}}
    shapes = {f"{stack}.{i}.{key}": shape for stack in stacks for i in range(2) for key, shape in stacks[stack].items()}
    text = draft({"shared.weight": (50, 8), **shapes}, None)
    assert "?" not in text and problems(text, {"shared.weight": (50, 8), **shapes}, {"n_heads": 2}) == []
    lines = text.splitlines()
    for line in (
        "readers.*.look.to_o.weight = encoder.blocks.*.self_attn.out.weight  # by name; check",
        "writers.*.crosslook.to_k.weight = decoder.blocks.*.cross_attn.k.weight  # by name; check",
        "writers.*.selflook.to_q.bias = decoder.blocks.*.self_attn.q.bias  # by name; check",
        "writers.*.lift.weight = decoder.blocks.*.mlp.up.weight  # by shape; check",
        "writers.*.n1.gain = decoder.blocks.*.ln_cross.weight  # by shape; check",
    ):
        assert line in lines
    heads = {f"body.{i}.heads.{h}.{key}": (8, 4) for i in range(2) for h in range(2) for key in ("wq", "wk", "wv")}
    rest = {**heads, "body.0.mix": (8, 8), "body.1.mix": (8, 8)}
    assert "body.*.heads.*.wk = decoder.blocks.*.self_attn.k.weight T  # by name; check" in draft(
        {"words.weight": (50, 8), **rest}, None
    )
    tables = draft({"wpe.weight": (90, 8), "wte.weight": (50, 8), **rest}, None)
    assert "wpe.weight = decoder.pos_embed.table" in tables and "wte.weight = decoder.embed.weight" in tables


def test_where_no_name_helps_the_draft_goes_by_shapes(place: Path, folder_of: FolderOf):
    with pytest.raises(UnknownLayoutError) as error:
        tc.load(place)
    shapes = error.value.shapes
    text = draft(shapes, None)
    (problem,) = problems(f"{text}\nmore = ?", shapes, {})
    assert "here and in all 2 lines with ?" in str(problem.why) and shapes["layer.0.mix.weight"] == (36, 108)
    options = {"mapping": text.replace("= ?", "= -"), "n_heads": 3, "norm_position": "pre", "activation": "gelu_tanh"}
    ours, _ = tc.load(place, options={**options, "pad_id": 0})
    tokens = foreign.batch("gpt2")
    torch.testing.assert_close(ours(*tokens), foreign.ours(folder_of("gpt2"))(*tokens))
    wrong = str(options["mapping"]).replace("decoder.pos_embed.table  #", "decoder.pos.weight  #")
    assert "nearest name is decoder.pos_embed.table" in str(problems(wrong, shapes, {})[0].why)
    assert "#   decoder.blocks.*.mlp.up.weight  [d_ff, d_model]" in text


def test_a_layout_that_fits_in_part_can_be_mapped_too(tmp_path: Path):
    weights = {key.replace("ln_f", "last"): weight for key, weight in weights_of(bias=True).items()}
    torch.save(weights, tmp_path / "mine.pt")
    with pytest.raises(UnknownLayoutError, match=r"lacks the weight 'transformer\.ln_f\.weight'") as error:
        tc.load(tmp_path / "mine.pt", options={"n_heads": 3})
    text = draft(error.value.shapes, error.value.nearest)
    incomplete = "\n".join(line for line in text.splitlines() if "last" not in line)
    options = {"n_heads": 3, "norm_position": "pre", "activation": "gelu"}
    with pytest.raises(CheckpointError) as refusal:
        tc.load(tmp_path / "mine.pt", options={**options, "mapping": incomplete})
    assert not isinstance(refusal.value, UnknownLayoutError)
    model, _ = tc.load(
        tmp_path / "mine.pt",
        options={**options, "mapping": text},
    )
    assert torch.equal(model.get_parameter("decoder.ln_final.bias"), weights["transformer.last.bias"])
