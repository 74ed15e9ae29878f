"""Odd English in docstrings, comments, texts on the screen and documents, and past participles as names of data.

The lint holds for `FOLDERS`; `python -m tests.lints --words ROOM` lists the findings of any folder or file.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("README.md", "docs", "grammars", "headlight", "transformer_core", "pages", "tests")
SKIPPED = re.compile(r"tests/lints/(test_)?words\.py|/lessons/de/|/glossary/de\.toml|/node_modules/|/examples/")


class Phrase(NamedTuple):
    """A phrase that is translated rather than written."""

    pattern: str  # a regular expression; a space also matches a line break inside a docstring, comment or string
    better: str
    why: str
    allowed: str = "(?!)"  # phrases around the match that are good English


PHRASES = (
    Phrase("[Rr]eturns? what", "Return the <noun> ...", "name what is returned", r"return\s+#\swhat"),
    Phrase("[Yy]ields? what", "Yield the <noun> ...", "name what is yielded"),
    Phrase(
        "(?:is|are|was|were|be|been|being) told",
        "is passed / reported / described",
        "data is passed, states are reported",
        "told (?:apart|from)",
    ),
    Phrase("(?:is|are|was|were|be|been|being) said", "is shown / printed", "programs show text", "be said to"),
    Phrase("(?:is|are|was|were|be|been|being) asked(?! to)", "is requested / queried", "say what is requested"),
    Phrase("as (?:it|they) stands?", "unchanged / as is", "“wie es steht”"),
    Phrase(r"as (?:it|they) (?:is|are)(?=[.,;:)]|$)", "unchanged / as is", "“wie es ist”"),
    Phrase("(?:is|are|was|were|be|been|being) looked at", "is shown / selected / inspected", "say which"),
    Phrase(
        "[Ww]ho asks|[Ww]hoever|[Ww]homever|(?:for|by) who(?!,| in| for)", "the caller / anyone who", "name the caller"
    ),
    Phrase(
        "go(?:es)? on|went on|going on",
        "continues / resumes",
        "runs continue, and saved ones resume",
        '"go on"|`go on`|goes? on (?:top|the|a|an|one)|what is going on|(?:is|are) going on',
    ),
    Phrase("so many", "that many / n / as many", "“so viele”", "so many (?:\\w+ )+that|[Nn]ot so many"),
    Phrase(
        "[Bb]ehind",
        "after",
        "positions come after each other; only things in space are behind others",
        r"(?:left|leaves?|leaving|falls?|lags?)(?: \w+)? behind|[Tt]he idea behind|\"behind\",|behind "
        "(?:a|the|its|their) (?:proxy|scenes|door|tree|curtain|bed|wall|bridge|house|fence|"
        "figure|page|marks|lines|server|bars)",
    ),
    Phrase(
        "(?:right or wrong|wrong or right|(?:exactly|all|half|equally) right(?! when:)|(?:is|are|was|were|be|been|it|"
        "them|put|set|said|all|proves?|looks?|answered|anything|how|n) right(?! (?:of|side|edge|end|hand|after|away|"
        "here|now|before|next|arrow|to the|at|when)|: yes)|"
        "right (?:ones?|answers?|tokens?|words?|text|masks?|model|predictions?|"
        "outputs?|targets?|sentence|values?|pronoun|dates?|order|place|numbers?|shape|name|size|result|translation|"
        "question|head))",
        "correct",
        "right is a direction",
        r"(?:top|bottom|left|upper|lower|on|to|at) (?:and |or |the )?right|(?:==|\() ?right|\) is right:",
    ),
    Phrase(
        'the page (?:“|"|Start|Tour|Heads|Compare|Decoding|Interventions|Masks|Positions|Architecture|Attention|'
        "Programs|Build|Steps|Train|Film|Models|Glossary|Predictions|Long)",
        "the X page",
        "a title comes before its noun",
    ),
    Phrase(
        "of (?:its|their|his|your|my|one's) own",
        "its own X / separate / custom",
        "put the owner first",
        "instead of its own",
    ),
    Phrase("by (?:itself|themselves|himself)", "alone / separately / automatically", "“von selbst”", "d by itself"),
    Phrase(
        "what (?:stands|lies)|where (?:it|they|one) (?:stands?|lies?)", "what is in / where it is", "“steht, liegt”"
    ),
    Phrase(
        "(?:and|which|that|it|they) (?:is|are) no (?!longer|more|less|closer|other|larger|smaller|matter)[a-z]+",
        "is not a",
        "“ist kein”",
    ),
    Phrase("hand(?:s|ed)? on", "pass on / export", "“weitergeben”", "hands? on (?:a|the) "),
    Phrase("anew", "again", "“neu”"),
    Phrase("for want of", "for lack of", "archaic"),
)
NAMES = {"asked": "request", "found": "matches", "made": "result", "said": "message", "told": "payload"}
_IN_A_SCRIPT = re.compile(rf"\b(?:const|let|var) ({'|'.join(NAMES)})\b")


@cache
def _compiled(phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)".replace(" ", r"""[\s"#*/]+"""))


def odd_phrases(text: str) -> Iterator[tuple[int, str, Phrase]]:
    """Yield the line, the words and the rule of each phrase that the table lists."""
    for phrase in PHRASES:
        for match in _compiled(phrase.pattern).finditer(text):
            around = _compiled(phrase.allowed).finditer(text, max(0, match.start() - 50), match.end() + 50)
            if not any(good.start() < match.end() and match.start() < good.end() for good in around):
                yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), phrase


def odd_names(source: str, is_python: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each variable, parameter or field with a name of `NAMES`."""
    if not is_python:
        yield from ((source.count("\n", 0, match.start()) + 1, match[1]) for match in _IN_A_SCRIPT.finditer(source))
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                if name in NAMES:
                    yield node.lineno, name


def in_room(room: str, root: Path = ROOT) -> list[str]:
    """Return a line for each finding in a folder or a file, in order."""
    path = root / room
    lines = list[tuple[str, int, str]]()
    for file in [path] if path.is_file() else path.rglob("*"):
        name = file.relative_to(root).as_posix()
        if file.suffix in (".py", ".js", ".md", ".toml") and not SKIPPED.search(name):
            text = file.read_text(encoding="utf-8")
            lines += [(name, line, f"“{words}”: {p.better} ({p.why})") for line, words, p in odd_phrases(text)]
            if file.suffix in (".py", ".js"):
                lines += [
                    (name, n, f"`{x}` names data: say what it is, as in `{NAMES[x]}`")
                    for n, x in odd_names(text, file.suffix == ".py")
                ]
    return [f"{name}:{line}: {problem}" for name, line, problem in sorted(lines)]


def problems() -> Iterator[str]:
    """Yield the findings of all folders."""
    for room in FOLDERS:
        yield from in_room(room)
