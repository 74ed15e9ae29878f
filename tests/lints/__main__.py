"""Run the project's own lints: each module of this folder that has `problems()` yields a line for each problem.

`make check` runs them all: `python -m tests.lints`; with names, those alone: `python -m tests.lints arrows escaping`.
"""

import sys
from importlib import import_module
from pathlib import Path


def main(names: list[str]) -> int:
    """Print the problems that the named lints find, or all lints; return 1 if there are any."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if not path.stem.startswith("test_"))
    lints = [(name, import_module(f"tests.lints.{name}")) for name in names or modules]
    found = [f"{problem} [{name}]" for name, lint in lints if hasattr(lint, "problems") for problem in lint.problems()]
    print(*found, f"{len(found)} problems found by {len(lints)} lints.", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
