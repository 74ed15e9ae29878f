"""What is written under a patch, against each sentence decoded by itself."""

from collections.abc import Mapping

import numpy as np
import pytest

import transformer_core as tc
from grammars.en_fr.lexicon import ADJECTIVES
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.agreement import agreement
from headlight.analysis.pronouns.pair_batch import PairBatch
from headlight.analysis.pronouns.patching import PronounRuns
from tests.headlight.analysis.pronouns.by_hand import captured, sides

Loaded = tuple[tc.Transformer, tc.Tokenizer]


@pytest.fixture(scope="module")
def runs(en_fr: Loaded, batch: PairBatch) -> PronounRuns:
    return PronounRuns(en_fr[0], batch)


def forms(pronoun: str) -> Mapping[str, str]:
    """Each English adjective's French form after il or elle."""
    gender = "masculine" if pronoun == "il" else "feminine"
    return {name: getattr(adjective, gender) for name, adjective in ADJECTIVES.items()}


@pytest.mark.parametrize("head", [HeadName("encoder", 0, 2), HeadName("encoder", 1, 0)])
def test_what_is_written_is_that_of_each_sentence_by_itself(
    runs: PronounRuns, batch: PairBatch, en_fr: Loaded, head: HeadName
):
    model, tokenizer = en_fr
    name = tc.site("z", layer=head.layer, attention="encoder")
    is_flipped, is_exact, agrees = [], [], []
    for side, one, partner in sides(tokenizer, batch.pairs):
        edit = tc.patch(captured(model, partner, name), heads=[head.head], positions=[one.words.index("it")])
        with tc.intervene(model, {name: edit}):
            tokens = tc.greedy_decode(model, one.src).tokens[0].tolist()
        text = tokenizer.decode(tokens).lower()
        before, _, after = text.partition(" parce qu'")
        pronoun, *rest = after.rstrip(".").split()
        own = "il" if one.own == tokenizer.encode("il")[0] else "elle"
        expected = side.pair.target.lower().partition(" parce qu'")[0]
        is_flipped.append(before == expected and pronoun in ("il", "elle") and pronoun != own)
        is_exact.append(text == side.forced.lower())
        quality = one.words[-3]
        if is_flipped[-1] and quality in ADJECTIVES and forms("il")[quality] != forms("elle")[quality]:
            agrees.append(rest[-1] == forms(pronoun)[quality])
    found = agreement(runs, head)
    masculine, feminine = np.split(np.array(is_flipped), 2)
    assert found.rates == pytest.approx((masculine.mean(), feminine.mean()))
    assert found.n_gendered == len(agrees)
    assert len(agrees) > 4, "else this test compares nothing"
    assert found.agreeing == pytest.approx(np.mean(agrees))
    assert found.exact == pytest.approx(np.mean(is_exact))
