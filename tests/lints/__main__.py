"""Run the project's lints: each module of this folder that has `problems()` yields a line for each problem.

`make check` runs them all: `python -m tests.lints`; with names, only those: `python -m tests.lints arrows escaping`.
`python -m tests.lints --words ROOM ...` lists the odd English of folders or files, clean or not.
"""

import sys
from importlib import import_module
from pathlib import Path

from tests.lints.words import in_room


def main(names: list[str]) -> int:
    """Print the problems that the named lints find, or all lints; return 1 if there are any."""
    if names[:1] == ["--words"]:
        findings = [line for room in names[1:] for line in in_room(room)]
        print(*findings, f"{len(findings)} findings.", sep="\n")
        return bool(findings)
    modules = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if not path.stem.startswith("test_"))
    lints = [(name, import_module(f"tests.lints.{name}")) for name in names or modules]
    lines = [f"{problem} [{name}]" for name, lint in lints if hasattr(lint, "problems") for problem in lint.problems()]
    print(*lines, f"{len(lines)} problems found by {len(lints)} lints.", sep="\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
