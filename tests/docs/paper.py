"""The code that `docs/paper.md` quotes; `python -m tests.docs.paper` updates it."""

import inspect
import re
import textwrap
from functools import reduce
from importlib import import_module
from pathlib import Path

PAPER = Path(__file__).parents[2] / "docs" / "paper.md"
_QUOTED = re.compile(r"<!-- code: ([\w.]+):([\w.]+) -->\n.*?<!-- end -->", re.DOTALL)


def with_code(text: str) -> str:
    """Return a page with the current source between each pair of comments."""
    return _QUOTED.sub(_quoted, text)


def _quoted(match: re.Match[str]) -> str:
    module, name = match.groups()
    quoted = reduce(getattr, name.split("."), import_module(module))
    source = textwrap.dedent(inspect.getsource(quoted)).rstrip()
    return f"<!-- code: {module}:{name} -->\n```python\n{source}\n```\n<!-- end -->"


if __name__ == "__main__":
    PAPER.write_text(with_code(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
