"""Language models from scratch: logits and patterns against the forward passes of their programs."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import further_programs
from tests.checkpoints.programs import VOCAB, WIDTH, microgpt, nanochat
from tests.checkpoints.test_pickles import Hostile
from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.foreign import open_saved
from transformer_core.checkpoints.layout import SavedModel, UndecidedError
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.rotary_tables import rotary_of_table
from transformer_core.errors import CheckpointError
from transformer_core.text.load import load_tokenizer


@pytest.fixture(autouse=True)
def one_seed() -> None:
    torch.manual_seed(0)


CASES = further_programs.CASES  # and those of the other programs


@pytest.mark.parametrize("name", CASES)
def test_logits_and_patterns(name: str, tmp_path: Path):
    path, options, forward = CASES[name](tmp_path)
    if options:
        with pytest.raises(UndecidedError) as caught:
            tc.load(path)
        assert {question.option for question in caught.value.questions} == options.keys()
    model = tc.load(path, options=options)[0]
    for source in (path, tmp_path):
        model = tc.load(source, options=options)[0]
    for n in (9, 80):
        tokens = torch.randint(0, VOCAB, (2, n))
        with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
            logits = model(tokens)
        expected, patterns = forward(tokens)
        assert expected.std() > 0.5
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5 * expected.max().item())
        for i, pattern in enumerate(patterns):
            torch.testing.assert_close(acts[f"decoder.blocks.{i}.self_attn.hook_pattern"], pattern, rtol=0, atol=1e-5)


def test_the_characters_of_a_microgpt(tmp_path: Path):
    path, options, _ = microgpt(tmp_path, is_first=False)
    content = json.loads(path.read_text())
    characters = [chr(65 + i) for i in range(VOCAB - 1)]
    for vocabulary, bos in ((characters, VOCAB - 1), (["<bos>", *characters], 0)):
        path.write_text(json.dumps({"_vocab": vocabulary, **content}))
        notes: list[Any] = []
        model, tokenizer = tc.load(path, options=options, on_note=notes.append)
        assert (model.config.bos_id, model.config.eos_id, tokenizer.eos_id) == (bos, bos, bos)
        ids = tokenizer.encode_for("BA", "decoder_only")
        assert ids == [bos, 1 + (bos == 0), bos == 0] and tokenizer.decode([*ids, bos]) == "BA"
        assert tokenizer.labels(ids) == ["<bos>", "B", "A"]
        tokenizer.save(tmp_path / "saved")
        assert load_tokenizer(tmp_path / "saved").decode([*ids, bos]) == "BA"
        assert len(notes) == 2  # on the number of heads, and on the chosen activation
    nested = {"config": {"n_head": 2, "n_embd": WIDTH}, "uchars": characters, "state_dict": content}
    path.write_text(json.dumps(nested))
    model, tokenizer = tc.load(path, options=options)
    assert (model.config.n_heads, tokenizer.vocab_size) == (2, VOCAB)
    path.write_text(json.dumps({"_vocab": characters[:7], **content}))
    assert tc.load(path, options=options)[1].kind == "ids"


@pytest.mark.parametrize("name", ["gemma3", "litgpt_gemma", "transformer_lens_llama"])
def test_weights_of_16_bits_are_not_rounded_again(name: str, tmp_path: Path):
    path, options, _ = CASES[name](tmp_path)
    half = {key: w if "rotary" in key else w.bfloat16() for key, w in torch.load(path).items()}
    models = []
    for weights in (half, {key: weight.float() for key, weight in half.items()}):
        torch.save(weights, path)
        models.append(tc.load(path, options=options)[0].state_dict())
    torch.testing.assert_close(*models, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rotary_tables_of_16_bits_have_one_of_the_usual_bases(dtype: torch.dtype):
    for base, n in ((1e4, 12), (5e5, 64), (1e6, 128), (300.0, 12)):
        angles = torch.arange(9)[:, None] * (base ** -(torch.arange(0, n, 2) / n)).repeat(2)
        tables = angles.sin().to(dtype), angles.cos().to(dtype)
        if base > 300:
            assert rotary_of_table(*tables, n)["rotary_base"] == base
        else:
            with pytest.raises(CheckpointError, match="scaled or rounded"):
                rotary_of_table(*tables, n)


@pytest.mark.parametrize("placing", ["interleaved", 2])
def test_older_files_of_litgpt_name_the_interval_of_windows(placing: object, tmp_path: Path):
    path, _, _ = CASES["litgpt_llama"](tmp_path)
    with (tmp_path / "model_config.yaml").open("a") as file:
        file.write(f"\nsliding_window_size: 4\nsliding_window_layer_placing: {placing}\n")
    assert tc.load(path)[0].config.layers_without_window == (1,)


def test_later_versions_of_nanochat_are_refused_with_their_date(tmp_path: Path):
    path, _, _ = nanochat(tmp_path)
    weights = torch.load(path)
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(Hostile(tmp_path / "ran")))
    notes: list[Any] = []
    tc.load(tmp_path, on_note=notes.append)
    assert "a pickled object of tiktoken" in str(notes) and not (tmp_path / "ran").exists()
    for key, day in (
        ("resid_lambdas", "2026-01-11"),
        ("value_embeds.1.weight", "2026-01-16"),
        ("smear_gate", "2026-03-14"),
    ):
        weights[f"_orig_mod.{key}"] = torch.ones(2)
        torch.save(weights, path)
        with pytest.raises(CheckpointError, match=f"{key}' is a part that nanochat has had since {day}"):
            tc.load(path)


def test_sizes_of_published_models_need_no_answer(tmp_path: Path):
    """The tensors are on the device "meta": only their shapes count."""
    block: dict[str, tuple[int, ...]] = {"att.W_query": (2048, 2048), "att.W_key": (512, 2048)}
    block["att.W_value"] = (512, 2048)
    block |= {"att.out_proj": (2048, 2048), "ff.fc1": (8192, 2048), "ff.fc2": (8192, 2048), "ff.fc3": (2048, 8192)}
    block |= {"norm1": (2048,), "norm2": (2048,)}
    shapes = {f"trf_blocks.{i}.{name}": shape for i in range(16) for name, shape in block.items()}
    shapes |= {"tok_emb": (128256, 2048), "out_head": (128256, 2048), "final_norm": (2048,)}
    weights = {f"{name}.weight": torch.empty(shape, device="meta") for name, shape in shapes.items()}
    saved = SavedModel(folder=tmp_path, paths=(), config={}, other={}, weights=weights)
    opened = open_saved(saved, StateDict({}), where="Llama 3.2 1B")
    config = family_of(opened.values, where="").config(opened.values)
    assert (config.n_heads, config.n_kv_heads, config.rotary_base) == (32, 8, 500000)
    assert (config.rotary_scaling, config.rotary_scaling_factor, config.rotary_original_len) == ("llama3", 32, 8192)
    assert len(opened.notes) == 4  # on heads, the base and the scaling of RoPE, and the length of texts


def test_the_settings_of_a_litgpt_in_memory_are_not_those_of_other_programs(tmp_path: Path):
    path, _, _ = CASES["litgpt_llama"](tmp_path)
    theirs = torch.nn.Module()
    theirs.state_dict = lambda: torch.load(path)  # type: ignore[assignment]
    theirs.config = SimpleNamespace(n_layer=2, n_head=4, vocab_size=VOCAB - 1, rope_base=300, bias=False)  # type: ignore[assignment]
    expected, tokens = tc.load(path)[0], torch.randint(0, VOCAB, (1, 9))
    ours, _ = tc.load(theirs, options={"n_heads": expected.config.n_heads, "rotary_base": expected.config.rotary_base})
    torch.testing.assert_close(ours(tokens), expected(tokens))
