"""The catalogues: all that is said has its German, nothing is kept that nobody says, and both have the same marks."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from pages.languages import CATALOGUES, calls_for_people, error_classes, known, said, sources, templates
from transformer_core.language import say, speaking

pytestmark = pytest.mark.slow

SAME_IN_BOTH = frozenset(
    """ALiBi|Ablation|Adam|AdamW|Addition|Alignment|Alignment: {who}|Attention|Attentions|Beams|Block {layer}|CKA|Code
Decoder|Decoding|Dropout|Dropout p|Denoising|Embedding|Encoder|FFN|Film|GELU|GELU (tanh)|Heatmap|KL (nats)|Key
Keys|LayerNorm|Linear|Logits|Loss|Memory (M)|MiB|Min-p|Name|Name (optional)|Noising|Operation|Overfitting|Padding
Pause|Prompt|Queries|Query|Query {query}: {who}|RMSNorm|Resample|ReLU|Score: {query} → {key}, {head}|Scores.|Seed
Segment|Server|SiLU|Snapshot|Start|Softmax|Text|Token|Tokenizer|Top-k|Tour|Training|Values|bfloat16|diagonal|final
float32|nats|normal|one-hot|{n:.2f} nats|{number} nats""".replace("\n", "|").split("|")
)


@pytest.fixture(scope="module")
def all_said() -> Catalog:
    return said()


@pytest.fixture(scope="module")
def german() -> Catalog:
    return known("de")


def pairs(catalogue: Catalog) -> Iterator[tuple[str, str]]:
    """Yield each text with its translation; of those that depend on a number both forms."""
    for message in catalogue:
        if message.id:
            yield from zip(forms(message.id), forms(message.string), strict=True)


def forms(texts: str | Sequence[str] | None) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts or ("",)


def test_all_that_is_said_has_its_german(all_said: Catalog, german: Catalog):
    lacking = [m.id for m in all_said if m.id and (m.id not in german or not all(forms(german[m.id].string)))]
    assert not lacking


def test_no_entry_is_of_a_text_that_nobody_says(all_said: Catalog, german: Catalog):
    assert not [message.id for message in german if message.id and message.id not in all_said]


def test_the_same_values_and_tags_stand_in_both(german: Catalog):
    def marks(text: str) -> list[str]:
        return sorted({*re.findall(r"\{[^}]*\}", text)}) + sorted(re.findall(r"</?\w+[^>]*>", text))

    def edges(text: str) -> tuple[bool, bool]:
        return text[:1] == " ", text[-1:] == " "

    assert not [(one, other) for one, other in pairs(german) if marks(one) != marks(other)]
    assert not [(one, other) for one, other in pairs(german) if edges(one) != edges(other)]


def test_what_is_the_same_in_german_is_meant_to_be(german: Catalog):
    same = {one for one, other in pairs(german) if one == other}
    assert {one for one in same if re.search("[A-Za-z]{2}", re.sub(r"{.*?}", "", one))} == SAME_IN_BOTH


def test_two_catalogues_say_a_text_alike() -> None:
    found = dict[object, object]()
    for message in (message for folder in CATALOGUES for message in _entries(folder)):
        assert not message.id or found.setdefault(message.id, message.string) == message.string, message.id


def test_no_text_is_put_together_before_it_is_said():
    for file in sources():
        for call in calls_for_people(ast.parse(file.read_text(encoding="utf-8"))) if file.suffix == ".py" else ():
            is_plain = not any(isinstance(text, ast.JoinedStr | ast.BinOp) for text in templates(call))
            assert is_plain or not call.keywords, f"{file}:{call.lineno}"


def test_the_texts_of_a_script_are_found_in_it():
    for file in sources():
        if file.suffix == ".js":
            script = file.read_text(encoding="utf-8")
            for message in said([file]):
                for text in forms(message.id) if message.id else ():
                    assert json.dumps(text, ensure_ascii=False) in script, f"{text} in {file}"


def test_each_error_for_a_person_has_a_template():
    names = error_classes()
    assert {"ConfigError", "RunError", "BadLinesError"} < names
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if file.suffix == ".py" else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
                said_already = [n for n in ast.walk(node) if isinstance(n, ast.Call) and is_saying(n)]
                assert not said_already, f"{file}:{node.lineno}"


def is_saying(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("say", "say_number", "say_message")


def test_what_the_core_says_is_in_its_own_catalogues(all_said: Catalog):
    core = {message.id for message in _entries(CATALOGUES[1])}
    elsewhere = [
        m.id for m in all_said if m.id and m.id not in core and any(_is_core(place) for place, _ in m.locations)
    ]
    assert not elsewhere


def test_thousands_are_set_apart_by_a_space_where_a_comma_stands_before_decimals():
    for spoken, said_there in (("en", "12,345 MiB of 1,024.5"), ("de", "12\u202f345 MiB of 1\u202f024.5")):
        with speaking(spoken):
            assert say("{n:,} MiB of {most:,.1f}", n=12345, most=1024.5) == said_there
            assert say("{text}", text="1,000 cats") == "1,000 cats"  # a value that is a text stays as it is


def test_no_line_breaks_before_a_percent_sign_and_english_has_no_space_there(german: Catalog):
    for entry in german:
        for words, wrong in ((entry.id, r"[\d}]\s+%"), (entry.string or "", r"[\d}] *%(?!\})")):
            for text in (words,) if isinstance(words, str) else words:
                assert not re.search(wrong, text), text


def _is_core(place: str) -> bool:
    return place.startswith("transformer_core/") and place.endswith(".py")


def _entries(folder: Path) -> Iterator[Message]:
    for place in sorted((folder / "de").glob("*.po")):
        with place.open("rb") as file:
            yield from read_po(file, locale="de")
