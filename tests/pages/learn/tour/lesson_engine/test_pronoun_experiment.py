"""The numbers of the il/elle experiment: a head is patched pair by pair, one after the other, as a reader would."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.pronoun_experiment import N_PAIRS
from pages.learn.tour.lesson_engine.value import Values
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence, load
from transformer_core.corpora.grammars.en_fr.minimal_pairs import draw_minimal_pairs

TEXT = "The animal didn't cross the street because it was too tired."
SITE = "encoder.blocks.1.self_attn.hook_z"


def test_a_head_flips_as_many_pronouns_as_counted_one_by_one(make_evidence: MakeEvidence):
    model, _ = load("en-fr")
    n_flipped = 0
    pairs = draw_minimal_pairs(N_PAIRS)[N_PAIRS // 2 :]  # all of them are translated right
    for pair in pairs:
        sources = [side.pair.source for side in pair.sides]
        outputs = [tc.greedy_decode(model, _ids(text)).tokens[0].tolist() for text in sources]
        place = next(i for i, (a, b) in enumerate(zip(*outputs, strict=False)) if a != b)  # of il and elle
        flips = []
        for here, there in ((0, 1), (1, 0)):
            with torch.inference_mode(), tc.capture(model, SITE) as acts:
                model(_ids(sources[there]), torch.tensor([outputs[there][:place]]))
            with torch.inference_mode(), tc.intervene(model, {SITE: tc.patch(acts, heads=[0])}):
                logits = model(_ids(sources[here]), torch.tensor([outputs[here][:place]]))
            flips.append(int(logits[0, -1].argmax()) == outputs[there][place])
        n_flipped += all(flips)
    found = make_evidence("en-fr", TEXT).ask("flips[encoder, 1, 0]")
    assert isinstance(found, Values)
    assert found.number == pytest.approx(n_flipped / len(pairs), abs=1e-9)


def _ids(text: str) -> torch.Tensor:
    return torch.tensor([load("en-fr")[1].encode_for(text, "encoder_decoder")])


def test_a_matrix_a_row_and_a_number_agree_and_other_names_say_what_there_is(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", TEXT)
    matrix, row, one = (evidence.ask(f"flips[cross{rest}]") for rest in ("", ", 1", ", 1, 0"))
    assert isinstance(matrix, Values) and isinstance(row, Values) and isinstance(one, Values)
    assert [axis.name for axis in matrix.axes] == ["layer", "head"] and matrix.array.shape == (2, 4)
    np.testing.assert_array_equal(matrix.array[1], row.array)
    assert one.number == matrix.array[1, 0] > 0.9
    for source, words in (("flips[middle]", "no attention"), ("flips[cross, 5]", "5"), ("pronouns[all]", "only pairs")):
        with pytest.raises(ExpressionError, match=words):
            evidence.ask(source)
