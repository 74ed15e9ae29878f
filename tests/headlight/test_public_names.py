"""What `import headlight as hl` gives."""

import numpy as np
import pytest

import headlight as hl
import transformer_core as tc
from transformer_core.errors import ConfigError

TEXT = "The animal didn't cross the street because it was too tired."


def test_every_name_says_what_it_is():
    assert {*hl.__all__} <= {*dir(hl)} and all(getattr(hl, name).__doc__ for name in hl.__all__)


@pytest.fixture(scope="module")
def loaded() -> tuple[tc.Transformer, tc.Tokenizer]:
    return tc.load("checkpoints/en-fr")


def test_a_run_has_the_patterns_and_the_measures_of_all_heads(loaded: tuple[tc.Transformer, tc.Tokenizer]):
    run = hl.run_text(*loaded, TEXT)
    measures = hl.measure_run(run)
    for name, patterns in run.patterns.items():  # [layer, head, query, key]
        log = np.log(patterns, where=patterns > 0, out=np.zeros_like(patterns))
        entropies = -(patterns * log).sum(axis=-1)
        is_chosen = run.masks[name].sum(axis=-1)[:, None] > 1  # queries that may attend to two keys or more
        expected = entropies.mean(axis=-1, where=np.broadcast_to(is_chosen, entropies.shape))
        np.testing.assert_allclose(measures[name]["entropy"], expected, rtol=1e-4)


def test_a_sweep_has_the_changes_that_single_stacks_make(loaded: tuple[tc.Transformer, tc.Tokenizer]):
    results = hl.sweep(*loaded, TEXT)
    assert len(results) == 3 * 2 * 4
    for result in (results[0], results[-1]):
        stack = hl.InterventionStack(entries=(hl.Ablation(component=result.component, method="zero"),))
        change = hl.consequences(*loaded, TEXT, stack).logit_difference_change[-1]
        assert result.change == pytest.approx(change, abs=1e-4)
    with pytest.raises(ConfigError, match="one other text, got 0"):
        hl.sweep(*loaded, TEXT, method="patch")
