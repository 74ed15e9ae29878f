"""Timing things against each other in turn, A B C A B C ..., so that a machine whose speed drifts is unfair to none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table."""

    name: str
    median_ms: float
    slowest_ms: float  # the 95th percentile
    note: str = ""


def interleaved(
    contestants: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 2
) -> dict[str, list[float]]:
    """Run every contestant once per round and return the milliseconds of each, warm-up rounds left out."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for i in range(warm_up + rounds):
        for name, run in contestants.items():
            start = perf_counter()
            run()
            if i >= warm_up:
                times[name].append((perf_counter() - start) * 1e3)
    return times


def row_of(name: str, values: list[float], note: str = "") -> Row:
    """Return a row of some times in ms."""
    return Row(name=name, median_ms=median(values), slowest_ms=percentile_95(values), note=note)


def rows(times: Mapping[str, list[float]], reference: str) -> list[Row]:
    """Return a row per contestant; the note says how many times as fast as each the `reference` is, round by round."""
    return [
        row_of(
            name,
            values,
            "" if name == reference else f"{reference} is {speed_up(values, times[reference]):.2f} times as fast",
        )
        for name, values in times.items()
    ]


def speed_up(slow: list[float], quick: list[float]) -> float:
    """Return the median over rounds of slow / quick."""
    return median(a / b for a, b in zip(slow, quick, strict=True))


def percentile_95(values: list[float]) -> float:
    """Return the smallest value that 95 % of the values do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def table(title: str, lines: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    head = [f"### {title}", "", "| what | median ms | 95 % ms | |", "|---|---:|---:|---|"]
    return "\n".join(
        head + [f"| {row.name} | {row.median_ms:.1f} | {row.slowest_ms:.1f} | {row.note} |" for row in lines] + [""]
    )
