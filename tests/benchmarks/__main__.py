"""Runs the benchmarks that are named on the command line, or all of them, and prints a table of each."""

import sys
from importlib import import_module

from tests.benchmarks.interleaved import table

BENCHMARKS = (
    "training_step",
    "training_small_decoder",
    "generate",
    "lazy_capture",
    "against_transformers",
    "kept_tokens",
    "in_browser",
    "many_users",
)
ON_REAL_DATA = ("shakespeare", "real_translation")  # minutes and hours, on data that are not here: run where named


def main(names: list[str]) -> int:
    """Print one table per benchmark."""
    known = BENCHMARKS + ON_REAL_DATA
    if unknown := [name for name in names if name not in known]:
        print(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        if name in ON_REAL_DATA:
            title, run = name, getattr(import_module("tests.benchmarks.on_real_data"), name)
        else:
            benchmark = import_module(f"tests.benchmarks.{name}")
            title, run = benchmark.TITLE, benchmark.run
        print(table(title, run()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
