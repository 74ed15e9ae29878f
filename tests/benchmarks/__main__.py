"""Runs the benchmarks that are named on the command line, or all of them, and prints a table of each."""

import sys
from importlib import import_module

from tests.benchmarks.interleaved import table

BENCHMARKS = (
    "training_step",
    "training_small_decoder",
    "watching",
    "decoding",
    "generate",
    "against_transformers",
    "lazy_capture",
    "kept_tokens",
    "interventions",
    "in_browser",
    "explore_in_browser",
    "against_bertviz",
    "many_users",
    "decoding_in_browser",
    "editing_in_browser",
    "learn_in_browser",
    "from_the_page",
)
ON_REAL_DATA = ("shakespeare", "real_translation")  # minutes and hours, on data that are not here: run where named


def main(names: list[str]) -> int:
    """Print one table a benchmark."""
    for name in names:
        if name not in BENCHMARKS + ON_REAL_DATA:
            known = ", ".join(BENCHMARKS + ON_REAL_DATA)
            print(f"there is no benchmark {name!r}; there are {known}", file=sys.stderr)
            return 2
    for name in names or BENCHMARKS:
        benchmark = import_module(f"tests.benchmarks.{name}")
        print(table(benchmark.TITLE, benchmark.run()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
