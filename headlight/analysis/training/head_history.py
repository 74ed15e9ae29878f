"""The measures of heads over a training, and the snapshot at which a head acquired a habit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Int

from headlight.analysis.heads.measures import ENTROPIES, SHARES, HeadMeasures, HeadName, Share
from transformer_core.errors import RunError

PARTS = ("score", "chance", "spread")  # of a share: the fields of `Share`
_DIGITS = 4  # digits after the point in the file

LEAST_SHARE = 0.3  # least share of a head's attention that makes a habit
N_SPREADS = 4  # least number of standard deviations above chance
N_SNAPSHOTS = 2  # consecutive snapshots that a habit must last
HABITS = ("previous", "induction", "aligned")  # the measures by which heads appear


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """The snapshot at which a head acquired a habit."""

    name: HeadName
    measure: str  # one of HABITS
    step: int
    score: float  # share of its attention, in [0, 1], at that snapshot
    chance: float  # what shuffled tokens would get
    is_from_start: bool  # the head had the habit already when it was first measured


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadHistory:
    """The measures of all heads at the snapshots of a training."""

    steps: Int[np.ndarray, " snapshot"]  # ascending
    heads: tuple[HeadName, ...]  # in the order of the forward pass
    values: Mapping[tuple[str, str], Float[np.ndarray, "head snapshot"]]  # by (measure, part); NaN where there is none

    @classmethod
    def of(cls, snapshots: Iterable[tuple[int, Sequence[HeadMeasures]]]) -> Self:
        """Return the history of measured snapshots, (step, measures of all heads).

        Raises:
            RunError: the snapshots are not of the same heads.
        """
        return cls.from_records([_record(step, measures) for step, measures in snapshots])

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Self:
        """Return the history from the records of `to_record`; of two records of one step, the later counts.

        Raises:
            RunError: a record is damaged, or is of other heads than the first.
        """
        try:
            by_step = {int(record["step"]): record for record in records}
            in_order = [by_step[step] for step in sorted(by_step)]
            counts = [dict(record["heads"]) for record in in_order]
            if any(other != counts[0] for other in counts):
                raise RunError("the snapshots do not have the same heads; measure snapshots of one model only")
            heads = _names(counts)
            values = {
                (measure, part): np.array(
                    [[np.nan if n is None else float(n) for n in record[measure][part]] for record in in_order]
                )
                .reshape(len(in_order), len(heads))
                .T
                for measure in (*ENTROPIES, *SHARES)
                for part in (PARTS if measure in SHARES else PARTS[:1])
            }
        except RunError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(
                "a record of head scores is damaged or was written by another version ({error!r}); remove it",
                error=error,
            ) from error
        return cls(steps=np.array(sorted(by_step), dtype=np.int64), heads=heads, values=values)

    @staticmethod
    def to_record(step: int, measures: Sequence[HeadMeasures]) -> dict[str, Any]:
        """Return a snapshot as plain values for one line of JSON, each number with four digits after the point."""
        return _record(step, measures, digits=_DIGITS)

    def by_attention(self, measure: str, part: str = "score") -> dict[str, Float[np.ndarray, "layer head snapshot"]]:
        """Return one measure of all heads over the snapshots, by name of attention.

        Attentions to which the measure does not apply, or that have no values, are left out.
        """
        histories = {}
        for attention in dict.fromkeys(name.attention for name in self.heads):
            rows = [row for row, name in enumerate(self.heads) if name.attention == attention]
            n_layers = 1 + self.heads[rows[-1]].layer
            values = self.values[measure, part][rows].reshape(n_layers, -1, len(self.steps))
            if not np.isnan(values).all():
                histories[attention] = values
        return histories

    def arrays(self, measure: str, *, last_step: int | None = None) -> dict[str, np.ndarray]:
        """Return one measure of all heads for `numpy.savez`: `step`, and the arrays of `by_attention`, up to a step."""
        is_meant = self.steps <= (np.inf if last_step is None else last_step)
        return {"step": self.steps[is_meant]} | {
            attention: values[..., is_meant] for attention, values in self.by_attention(measure).items()
        }


def appearances(
    history: HeadHistory,
    *,
    measures: Sequence[str] = HABITS,
    least_share: float = LEAST_SHARE,
    n_spreads: float = N_SPREADS,
) -> list[Appearance]:
    """Return when heads acquired habits, earliest first; a habit that is lost and regained appears once.

    Args:
        history: of a training.
        measures: of HABITS.
        least_share: of its attention, in [0, 1], that a head lays where the habit does.
        n_spreads: standard deviations of the shuffled shares by which it must exceed their mean.
    """
    first_steps = []
    for measure in measures if history.heads else ():
        score, chance, spread = (history.values[measure, part] for part in PARTS)
        with np.errstate(invalid="ignore"):
            holds = (score >= least_share) & (score >= chance + n_spreads * spread)  # head, snapshot; never where NaN
        n_starts = max(0, len(history.steps) - N_SNAPSHOTS + 1)
        stays = np.all([holds[:, i : i + n_starts] for i in range(N_SNAPSHOTS)], axis=0)
        for row in np.flatnonzero(stays.any(axis=1)):
            snapshot = int(stays[row].argmax())
            first_steps.append(
                Appearance(
                    name=history.heads[row],
                    measure=measure,
                    step=int(history.steps[snapshot]),
                    score=float(score[row, snapshot]),
                    chance=float(chance[row, snapshot]),
                    is_from_start=snapshot == 0,
                )
            )
    return sorted(first_steps, key=lambda appearance: appearance.step)  # stable: heads in the order of the forward pass


def _record(step: int, measures: Sequence[HeadMeasures], *, digits: int | None = None) -> dict[str, Any]:
    """Return a snapshot as plain values: for each measure, one number per head."""

    def plain(number: float | None) -> float | None:
        return number if number is None or digits is None else round(number, digits)

    heads: dict[str, list[int]] = {}  # by attention: layers, heads
    for one in measures:
        heads[one.attention] = [1 + one.layer, 1 + one.head]
    record: dict[str, Any] = {"step": step, "heads": heads}
    for measure in ENTROPIES:
        record[measure] = {"score": [plain(getattr(one, measure)) for one in measures]}
    for measure in SHARES:
        shares: list[Share | None] = [getattr(one, measure) for one in measures]
        record[measure] = {part: [share and plain(getattr(share, part)) for share in shares] for part in PARTS}
    return record


def _names(counts: Sequence[Mapping[str, Sequence[int]]]) -> tuple[HeadName, ...]:
    """Return all heads, by how many layers and heads each attention has."""
    by_attention = counts[0] if counts else {}
    return tuple(
        HeadName(attention, layer, head)
        for attention, (n_layers, n_heads) in by_attention.items()
        for layer in range(n_layers)
        for head in range(n_heads)
    )
