"""Two texts are read as transformers reads the pair: ids, segments, patterns and predictions, for every caller."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.context import with_interventions
from headlight.analysis.interventions.effect import output_log_probs
from headlight.analysis.interventions.records import Component, InterventionStack, Patch
from headlight.analysis.interventions.stacks import from_json, to_json
from headlight.analysis.masks.leak import leak
from headlight.analysis.masks.text import mask_text
from headlight.analysis.positions.shuffled_words import shuffle_words
from headlight.analysis.stage.generating import generate
from headlight.analysis.trace.model_run import run_text
from headlight.cli.main import main
from tests.small_bert import OTHERS, save_small_bert
from transformer_core.decoding.inputs import final_states
from transformer_core.errors import TextError
from transformer_core.text.labels import border_in

PAIRS = [("the cat sat", "it is [MASK] mat ."), ("[MASK]", "dogs"), ("the dogs [MASK] on a mat .", "a zebra")]
PAIRS += [("", "[MASK] ‖ cat"), ("a [MASK] cat", "")]  # without a second text it is not a pair, as in transformers
PAIRS += [("a [MASK] cat", " \t")]  # a pair without a token of the second text


def test_values_of_another_pair_replace_those_of_the_same_text_of_it(tmp_path: Path):
    theirs, their_tokenizer = save_small_bert(tmp_path)
    model, tokenizer = tc.load(tmp_path)
    here, there = ("the cat [MASK]", "it is"), ("a [MASK] sat", "dog .")
    last = Component(kind="resid_post", attention="encoder", layer=1)
    stack = from_json(to_json(InterventionStack(entries=(Patch(component=last, text=there, direction="noising"),))))
    changed = with_interventions(model, tokenizer, stack, here)
    with torch.inference_mode():
        expected = theirs(**their_tokenizer(*there, return_tensors="pt")).logits
        logits = changed.logits_of(final_states(changed, run_text(model, tokenizer, here).inputs))
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", OTHERS)
def test_pairs_are_read_as_transformers_reads_them(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    theirs, their_tokenizer = save_small_bert(tmp_path, family)
    model, tokenizer = tc.load(tmp_path)

    def read(pair: tuple[str, str]) -> tuple[Any, Any]:
        encoded = their_tokenizer(*pair, return_tensors="pt", return_token_type_ids=True)
        unread = () if model.config.n_segments else ("token_type_ids",)
        with torch.inference_mode():
            return encoded, theirs(**{k: v for k, v in encoded.items() if k not in unread}, output_attentions=True)

    for pair in PAIRS:
        encoded, expected = read(pair)
        ids, segments = encoded.input_ids[0].tolist(), encoded.token_type_ids[0].tolist()
        patterns = torch.stack(expected.attentions)[:, 0].numpy()
        place = ids.index(tokenizer.mask_id)
        log_probs = expected.logits[0, place].log_softmax(-1)

        run = run_text(model, tokenizer, pair)
        assert run.inputs == ((tuple(ids), tuple(segments)) if pair[1] else (tuple(ids),))
        of_second = [place for place, text in enumerate(encoded.sequence_ids()) if text == 1]
        assert run.border == (min(of_second) if pair[1].strip() else None)
        assert [label.startswith("‖") for label in run.source] == [at == run.border for at in range(len(ids))]
        np.testing.assert_allclose(run.patterns["encoder"], patterns, atol=1e-5)
        (blank,) = run.blanks
        best = log_probs.exp().max().item()
        assert blank.position == place and blank.candidates[0].probability == pytest.approx(best, abs=1e-5)
        torch.testing.assert_close(output_log_probs(model, run.inputs, [place])[0], log_probs, atol=1e-4, rtol=1e-4)
        base = read_base(model, tokenizer, pair)
        torch.testing.assert_close(base.forced.log_probs[0], log_probs, atol=1e-4, rtol=1e-4)
        text = mask_text(model, tokenizer, pair)
        assert text.model_inputs == run.inputs
        padded = text.padded(tokenizer, model.config.pad_id, ["source"], 2)
        torch.testing.assert_close(
            final_states(model, padded.model_inputs)[:, : len(ids)], final_states(model, run.inputs)
        )
        assert leak(model, text.model_inputs, ids).moved.max() == 0  # each token keeps its id
        assert generate(model, tokenizer, pair, chosen=[7]).inputs[1:] == run.inputs[1:]

    shuffled = shuffle_words(model, tokenizer, run_text(model, tokenizer, PAIRS[0]), attention="encoder")
    assert border_in(shuffled.key_labels[1]) in (5, 6) and "‖" not in shuffled.text  # segments belong to places
    assert main(["decode", str(tmp_path), "", "--second", "a [MASK] cat"]) == 0 and capsys.readouterr().out
    assert main(["decode", str(tmp_path), PAIRS[0][0], "--second", PAIRS[0][1]]) == 0
    encoded, expected = read(PAIRS[0])
    filled = encoded.input_ids[0].where(encoded.input_ids[0] != tokenizer.mask_id, expected.logits[0].argmax(-1))
    assert capsys.readouterr().out.strip() == tokenizer.decode(filled)


def test_a_long_pair_keeps_the_sign_at_its_end(tmp_path: Path):
    save_small_bert(tmp_path)
    model, tokenizer = tc.load(tmp_path)
    run = run_text(model, tokenizer, ("the cat sat", "on the mat " * 20), max_tokens=9)
    assert run.source == ("[CLS]", "the", "cat", "sat", "[SEP]", "‖\u202fon", "the", "mat", "[SEP]")
    assert run.inputs[1] == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    run = run_text(model, tokenizer, ("the cat " * 20, "on"), max_tokens=9)
    assert run.border is None and "‖" not in "".join(run.source)  # nothing of the second text was read
    with pytest.raises(TextError, match="no target"):
        run_text(model, tokenizer, ("the", "cat"), target="a")
