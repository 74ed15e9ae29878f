"""Named limits of the core at their edge: what is just within a limit is taken whole, and one more is not."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from headlight.cli import inspect
from headlight.corpora import analysis
from headlight.diagnosis import curves
from headlight.experiments import experiment
from headlight.experiments.experiment import ExperimentRequest
from headlight.figures import bipartite
from tests.headlight.experiments.test_experiment import GOOD
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage import file_spans, kept_arrays, pair_lines
from transformer_core.errors import HeadlightError
from transformer_core.text import ids
from transformer_core.training.config import MOST_SEED, TrainingConfig


def cut_line(n: int) -> str:
    return pair_lines.BadLine(line=1, problem="no_row", text="x" * n).text


CUT: Mapping[str, tuple[int, Callable[[int], str]]] = {  # the longest text that is shown whole
    "a sample in the shell": (inspect._LONGEST_SAMPLE, lambda n: inspect._short("x" * n)),
    "a sample": (analysis._LONGEST_SAMPLE, lambda n: analysis._samples([Text("x" * n)])[0][0]),
    "a line": (pair_lines._LONGEST_SHOWN, cut_line),
}


@pytest.mark.parametrize("what", CUT)
def test_a_text_is_shown_whole_up_to_a_length(what: str):
    longest, shown = CUT[what]
    assert shown(longest) == "x" * longest
    assert shown(longest + 1).rstrip(" .") == shown(longest + 1)[:-4] != "x" * (longest + 1)


REFUSED: Mapping[str, tuple[int, Callable[[int], object]]] = {  # the largest that is taken
    "tokens of a vocabulary": (1_000_000, lambda n: CorpusReading(tokens="word", vocab_size=n)),
    "too few tokens": (-6, lambda n: CorpusReading(tokens="word", vocab_size=-n)),
    "too few tokens of a file": (-262, lambda n: CorpusReading(vocab_size=-n).vocab_size_of("byte_bpe", 1000)),
    "a seed": (MOST_SEED, lambda n: TrainingConfig(steps=1, batch_size=1, warmup_steps=1, seed=n)),
    "steps": (experiment.MOST_STEPS, lambda n: ExperimentRequest(**GOOD | {"steps": n})),
    "too few steps": (-experiment.FEWEST_STEPS, lambda n: ExperimentRequest(**GOOD | {"steps": -n})),
    "variants": (
        experiment.MOST_VARIANTS,
        lambda n: ExperimentRequest(
            **GOOD | {"kind": "positions", "variants": tuple(experiment.VARIANTS["positions"])[:n]}
        ),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_largest_is_taken_and_one_more_is_refused(what: str):
    most, take = REFUSED[what]
    take(most)
    with pytest.raises(HeadlightError):
        take(most + 1)


def test_an_array_is_kept_in_memory_up_to_a_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_arrays, "_MOST_IN_MEMORY", 8)
    sink = kept_arrays.Sink(BytesIO(), np.dtype(np.uint8), is_in_memory=True)
    sink.append(np.zeros(8))
    with pytest.raises(kept_arrays._TooLargeError):
        sink.append(np.zeros(1))


def test_a_text_is_cut_into_pieces_from_a_length_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_spans, "LONGEST_TEXT", 4)
    assert file_spans.cut(b"xxxx ", 0, 4) == [(0, 4)]
    assert file_spans.cut(b"xxxxx ", 0, 5) == [(0, 4), (4, 5)]


def test_ids_that_are_out_of_range_are_named_up_to_a_number():
    for n, is_cut in ((ids._MOST_NAMED, False), (ids._MOST_NAMED + 1, True)):
        with pytest.raises(HeadlightError) as error:
            ids.IdTokenizer(5, {})._cut(" ".join(str(100 + i) for i in range(n)))
        assert ("…" in str(error.value)) == is_cut


def test_means_are_compared_from_a_length_on():
    fewest = curves._FEWEST_TO_COMPARE
    enough: Any = [1.0, 2.0] * fewest
    assert curves.change(enough, enough[:fewest]) and curves.change(enough[:fewest], enough)
    assert not curves.change(enough, enough[: fewest - 1])


def test_every_heads_weight_is_written_up_to_a_number_of_heads():
    most = bipartite._MOST_NUMBERS
    for n, written in ((most, most), (most + 1, 1)):
        (text,) = bipartite._weights(np.full((n, 1), 0.5), ["#000"] * n)
        assert text.count("0.50") == written
    assert bipartite._weights(np.full((1, 1), bipartite.LEAST), ["#000"]) != [""]
    assert bipartite._weights(np.full((1, 1), np.nextafter(bipartite.LEAST, 0)), ["#000"]) == [""]
