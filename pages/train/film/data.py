"""What the Film page shows at one time: a run, its text at all snapshots, and the snapshot and head that are chosen."""

from dataclasses import dataclass
from typing import Any

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.shared.runs import Run
from pages.shared.view.run_state import RunView
from pages.train.film.film_readings import FilmRead


@dataclass(frozen=True, kw_only=True, eq=False)
class SnapshotData:
    """A snapshot and a head of a film that was read; all parts of the page draw from it."""

    run: Run
    read: FilmRead
    place: int  # of the snapshot among those that were read
    view: RunView  # attention, layer and head are those of a head that is there

    @property
    def step(self) -> int:
        """The chosen snapshot."""
        return int(self.read.reading.steps[self.place])

    @property
    def head(self) -> tuple[str, int, int]:
        """The chosen head: its attention, layer and number."""
        return self.view.attention, self.view.layer, self.view.head

    def pattern(self, place: int) -> Any:
        """Return the chosen head's pattern [query, key] at a snapshot."""
        return self.read.reading.patterns[self.view.attention][place, self.view.layer, self.view.head]

    @property
    def axes(self) -> dict[str, Any]:
        """Tokens, names and mask of all figures of the chosen head."""
        mask = self.read.reading.masks[self.view.attention][self.view.layer]
        return {**self.axes_of(self.view.attention), "mask": mask}

    def axes_of(self, attention: str) -> dict[str, Any]:
        """Return the tokens and names of an attention, as `TokenGrid` takes them."""
        fixed, kind = self.read.reading.fixed, ATTENTIONS[attention]
        queries, keys = fixed.labels(attention)
        is_written = fixed.architecture == "encoder_decoder"
        names = {"source": say("the text"), "target": say("the decoder’s input") if is_written else say("the text")}
        return {
            "query_tokens": queries,
            "key_tokens": keys,
            "query_name": say("query: {queries}", queries=names[kind.queries_from]),
            "key_name": say("key: {keys}", keys=names[kind.keys_from]),
        }

    def file_name(self, *more: str) -> str:
        """Return the name of a file that is saved, without its ending."""
        attention, layer, head = self.head
        return "-".join([self.run.name, *more, attention, f"layer{layer}", f"head{head}"])


def far_in_words(run: Run) -> str:
    """Return how far a training is."""
    return say("step {step:,} of {n:,}", step=run.step, n=run.n_steps) if run.n_steps else say("starting")
