"""README and docs/, as people read them."""

from tests.conftest import ROOT

WRITTEN = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
