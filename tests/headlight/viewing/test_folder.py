"""Folders of models that transformers computes: written, loaded, read like our own, and refused if unsafe."""

import json
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headlight as hl
import transformer_core as tc
from headlight.viewing.eager import eager_attention
from headlight.viewing.folder import is_viewed, load_for_viewing, refuse_unviewable, write_viewed
from tests.headlight.viewing.test_reading import HYBRID, T5, TEXT, small
from tests.small_bert import save_small_bert
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.errors import CheckpointError, Message, UnsupportedModelError

MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "num_key_value_heads": 1}


def saved(folder: Path, name: str, kind: str, settings: dict[str, Any], **more: Any) -> Any:
    """Save a small model, without a tokenizer: its texts are ids."""
    model = small(name, settings, kind=kind, **more).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", ["Qwen3Moe", "SwitchTransformers", "RoFormer"])
def test_an_unsupported_family_is_imported_for_viewing_and_read_like_ours(name: str, tmp_path: Path) -> None:
    kind = {"Qwen3Moe": "ForCausalLM", "RoFormer": "ForMaskedLM"}.get(name, "ForConditionalGeneration")
    settings = (
        T5 | {"num_experts": 4, "eos_token_id": 1, "num_decoder_layers": 2} if name == "SwitchTransformers" else TEXT
    )
    more = {"decoder_start_token_id": 0} if name == "SwitchTransformers" else MOE if name == "Qwen3Moe" else {}
    theirs = saved(tmp_path / "theirs", name, kind, settings, **more)
    with pytest.raises(CheckpointError, match="is not supported"):
        bring_in(str(tmp_path / "theirs"), tmp_path / "ours")
    card = bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    assert is_viewed(tmp_path / "ours") and not is_viewed(tmp_path / "theirs")
    assert card["parameters"] == sum(p.numel() for p in theirs.parameters())
    model, tokenizer = load_for_viewing(tmp_path / "ours")
    run = hl.run_text(model, tokenizer, "5 9 7 30 5", max_new_tokens=6)
    theirs.set_attn_implementation("eager")
    source, target = ([int(label) for label in side] for side in (run.source, run.target))
    inputs = {"input_ids": torch.tensor([source or target])}
    inputs |= {"decoder_input_ids": torch.tensor([target])} if source and target else {}
    with torch.no_grad():
        output = theirs(**inputs, output_attentions=True)
    for attention, patterns in run.patterns.items():
        names = (f"{attention}_attentions", "attentions")
        layers = next(output[field] for field in names if field in output)
        np.testing.assert_allclose(patterns, torch.stack(layers)[:, 0].numpy(), atol=1e-6)
    if target:
        log_probs = output.logits[0].log_softmax(dim=-1).max(dim=-1).values.numpy()
        np.testing.assert_allclose(run.log_probs[len(run.target) - 3 :], log_probs[len(run.target) - 3 :], atol=1e-5)
    else:
        assert [blank.candidates[0].probability for blank in run.blanks] == pytest.approx(
            output.logits[0].softmax(dim=-1).max(dim=-1).values.tolist(), abs=1e-5
        )
    with pytest.raises(CheckpointError, match="is not supported"):
        tc.load(tmp_path / "ours")


def test_a_folder_that_was_downloaded_is_imported_again_and_widths_are_no_counts(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "Qwen2Moe", "ForCausalLM", TEXT, **MOE, shared_expert_intermediate_size=2304)
    for source, name in (("theirs", "ours"), ("ours", "again")):
        bring_in(str(tmp_path / source), tmp_path / name, otherwise=write_viewed)
    assert load_for_viewing(tmp_path / "again")[1].kind == "ids"


def test_layers_in_lists_are_counted_before_they_are_built(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"d_model": 12, "n_head": 3, "d_head": 4, "d_inner": 8, "vocab_size": 9}
    config = transformers.FunnelConfig(block_sizes=[1, 1], num_decoder_layers=1, **sizes)
    transformers.FunnelModel(config).save_pretrained(tmp_path / "theirs")
    changed(tmp_path / "theirs", block_sizes=[500, 500])
    with pytest.raises(CheckpointError, match="larger model than its weights"):
        bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)


def test_generation_waits_for_a_run_of_another_thread(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "Qwen3Moe", "ForCausalLM", TEXT, **MOE)
    bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    model, _ = load_for_viewing(tmp_path / "ours")
    with ThreadPoolExecutor(1) as pool:
        with eager_attention(model.theirs) as watched:
            output = pool.submit(model.greedy, [5, 9], n_new=2, begun=[])
            wait([output], timeout=0.2)
            assert not watched.outputs
        assert len(output.result(timeout=20)) == 2


def test_models_are_loaded_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`from_pretrained` switches tying off for all models while it runs; two at a time leave it off."""
    saved(tmp_path / "theirs", "RoFormer", "ForMaskedLM", TEXT)
    bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    kind = transformers.RoFormerForMaskedLM
    load, running, most = kind.from_pretrained, list[None](), list[int]()

    def slow(*args: Any, **options: Any) -> Any:
        running.append(None)
        time.sleep(0.1)
        most.append(len(running))
        running.pop()
        return load(*args, **options)

    monkeypatch.setattr(kind, "from_pretrained", slow)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(load_for_viewing, [tmp_path / "ours"] * 2))
    assert most == [1, 1]


@pytest.mark.parametrize("name", ["Qwen3Moe", "RoFormer"])
def test_a_classifier_has_patterns_and_no_predictions(name: str, tmp_path: Path) -> None:
    saved(tmp_path / "theirs", name, "ForSequenceClassification", TEXT, **(MOE if name == "Qwen3Moe" else {}))
    bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    run = hl.run_text(*load_for_viewing(tmp_path / "ours"), "5 9 7 30 5")
    assert not run.predicts and run.not_finite is None
    assert [patterns.shape for patterns in run.patterns.values()] == [(3, 3, 5, 5)]


def test_notes_say_what_is_left_out_and_other_folders_are_for_the_core(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "Qwen3Next", "ForCausalLM", HYBRID)
    card = bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    notes = [str(Message.from_json(note)) for note in card["notes"]]
    assert notes[0].startswith("Computed by the transformers library")
    assert notes[1].startswith("1 of 3 layers") and notes[-1] == "Its layers with attention, 2, are numbered from 0."
    with pytest.raises(CheckpointError, match=r"load it with tc\.load"):
        load_for_viewing("checkpoints/en-fr")


def test_the_tokenizer_and_the_parts_of_a_large_file_are_kept(tmp_path: Path) -> None:
    save_small_bert(tmp_path / "theirs")
    model = saved(tmp_path / "theirs", "RoFormer", "ForMaskedLM", TEXT)
    model.save_pretrained(tmp_path / "theirs", max_shard_size="6KB")
    (tmp_path / "theirs" / "model.safetensors").unlink()
    bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    loaded, tokenizer = load_for_viewing(tmp_path / "ours", dtype="bfloat16")
    run = hl.run_text(loaded, tokenizer, "the cat sat on a ____ .")
    assert run.source == ("[CLS]", "the", "cat", "sat", "on", "a", "[MASK]", ".", "[SEP]")
    assert [blank.position for blank in run.blanks] == [6]


def changed(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


REFUSED: dict[str, dict[str, Any]] = {
    "needs other programs or models": {"quantization_config": {"quant_method": "bitsandbytes"}},
    "more than any model": {"num_hidden_layers": 10**9},
    "the two files do not match": {"vocab_size": 2**22},
    "larger model than its weights": {"max_position_embeddings": 2**30},
    "its files lack": {"num_hidden_layers": 4},
    "num_hidden_layers = 9,999, more": {"num_hidden_layers": [9999]},
    "transformers cannot load it": {"hidden_size": 25},
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_folder_that_is_unsafe_or_incomplete_is_refused_and_nothing_is_left(why: str, tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "RoFormer", "ForMaskedLM", TEXT)
    changed(tmp_path / "theirs", **REFUSED[why])
    with pytest.raises(CheckpointError, match=f"is not supported.*nor can it be viewed: .*{why}"):
        bring_in(str(tmp_path / "theirs"), tmp_path / "ours", otherwise=write_viewed)
    assert not (tmp_path / "ours").exists()


def test_no_code_of_a_folder_runs_and_no_pickle_is_read(tmp_path: Path) -> None:
    theirs, mark = tmp_path / "theirs", tmp_path / "ran"
    model = saved(theirs, "RoFormer", "ForMaskedLM", TEXT)
    (theirs / "code.py").write_text(f"open({str(mark)!r}, 'w')\nclass Model: pass\n")
    changed(theirs, auto_map={"AutoConfig": "code.Model", "AutoModel": "code.Model"}, _attn_implementation="a/kernel")
    bring_in(str(theirs), tmp_path / "ours", otherwise=write_viewed)
    assert not {"auto_map", "_attn_implementation"} & json.loads((tmp_path / "ours/config.json").read_text()).keys()
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {
        *("card.json", "config.json", "model.safetensors", "tokenizer.json")
    }
    (theirs / "model.safetensors").unlink()
    torch.save(model.state_dict(), theirs / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="weights are not safetensors"):
        bring_in(str(theirs), tmp_path / "other", otherwise=write_viewed)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"model_type": "unheard"}, "not supported; nor can it be viewed: the installed transformers library has no"),
        ({"model_type": ["mixtral"]}, "the installed transformers library has no such model"),
        ({"model_type": "mixtral", "quantization_config": {"bits": 4}}, "has quantization_config, which needs other"),
        ({"model_type": "mixtral"}, ""),
    ],
)
def test_a_model_of_the_hub_is_checked_by_its_configuration(values: dict[str, Any], match: str):
    with pytest.raises(CheckpointError, match=match) if match else nullcontext():
        refuse_unviewable(values, UnsupportedModelError("it is not supported"))
