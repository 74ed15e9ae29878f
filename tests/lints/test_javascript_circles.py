"""Circles of JavaScript modules are found, each once, and nothing else is."""

from pathlib import Path

from tests.lints.javascript_circles import problems


def _plant(root: Path, modules: dict[str, str]) -> None:
    for name, text in modules.items():
        (root / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "pages" / name).write_text(text, encoding="utf-8")


def test_modules_in_one_direction_are_no_circle(tmp_path: Path):
    shared = 'import { a } from "../a.js";\nimport "node:fs";\nexport const b = a;\n'
    _plant(tmp_path, {"a.js": "export const a = 1;\n", "kit/b.js": shared, "c.js": 'export * from "./kit/b.js";\n'})
    assert list(problems(tmp_path)) == []


def test_each_circle_is_one_line(tmp_path: Path):
    modules = {
        "a.js": 'import {\n  b,\n} from "./kit/b.js";\n',
        "kit/b.js": "export { a } from '../a.js';\n",
        "c.js": 'const later = () => import("./d.js");\n',
        "d.js": 'import "./e.js";\nimport "./a.js";\n',
        "e.js": 'import "./c.js";\n',
        "f.js": 'import "./f.js";\n',
    }
    _plant(tmp_path, modules)
    circles = [{name.removeprefix("pages/") for name in line.split(" -> ")} for line in problems(tmp_path)]
    assert sorted(circles, key=len) == [{"f.js"}, {"a.js", "kit/b.js"}, {"c.js", "d.js", "e.js"}]
