"""The German catalogues are complete, have no unused entries, and each entry is well-formed."""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from pages.languages import CATALOGUES, ROOMS, calls_for_people, error_classes, known, said, sources, templates
from pages.shared.glossary import texts_of

LIBRARIES = ROOMS[1:]
SAME_IN_BOTH = frozenset(
    """ALiBi|Ablation|Adam|AdamW|Addition|Alignment|Alignment: {who}|Attention|Attentions|Beams|Bias|Block {layer}
CKA|Code|Decoder|Decoding|Denoising|Dropout|Dropout p|Embedding|Encoder|FFN|Film|GELU|GELU (tanh)|Greedy
Heatmap|KL (nats)|Key|Keys|LayerNorm|Linear|Logits|Loss|Memory (M)|MiB|Min-p|Name|Name (optional)|Noising|Norm
Operation|Overfitting|Padding|Pause|Position|Prompt|Queries|Query|Query {query}: {who}|RMSNorm|ReLU|Resample
Sampling|Score: {query} → {key}, {head}|Scores.|Seed|Segment|Server|SiLU|Snapshot|Softmax|Start|Sweep|Text
Token|Tokenizer|Top-k|Tour|Training|Values|bfloat16|diagonal|final|float32|nats|normal|one-hot|{n:,.1f} GiB
{n:.0f} MiB|{n:.2f} nats|{n} KiB|{number} nats""".replace("\n", "|").split("|")
)


def problems() -> Iterator[str]:
    """Yield all that is wrong with the texts of the project and their translations."""
    all_said, german = said(), known("de")
    for message in all_said:
        if message.id and (message.id not in german or not all(forms(german[message.id].string))):
            yield f"has no German: {message.id!r}"
    of_libraries = {message.id for message in reasons()}
    for message in german:
        if message.id and message.id not in all_said and message.id not in of_libraries:
            yield f"is used nowhere: {message.id!r}"
    english, translated = dict(of_glossary(texts_of("en"))), dict(of_glossary(texts_of("de")))
    yield from (f"the glossary in only one language:{place}" for place in english.keys() ^ translated.keys())
    both = [*pairs(german), *((text, translated[place]) for place, text in english.items() if place in translated)]
    for text, translation in both:
        yield from (f"{text!r}: {problem}" for problem in differences(text, translation))
    same = {text for text, translation in both if text == translation}
    words = {text for text in same if re.search("[A-Za-z]{2}", re.sub(r"{.*?}", "", text))}
    yield from (f"the same in German, or no longer: {text!r}" for text in sorted(words ^ SAME_IN_BOTH))
    yield from said_in_two_ways()
    for i, library in enumerate(LIBRARIES, 1):
        known_below = {message.id for folder in CATALOGUES[i:] for message in entries(folder)}
        for message in all_said:
            is_in = any(place.startswith(f"{library}/") and place.endswith(".py") for place, _ in message.locations)
            if message.id and message.id not in known_below and is_in:
                yield f"{library} says it, and its own catalogues lack it: {message.id!r}"
    for file in sources():
        yield from in_python(file) if file.suffix == ".py" else in_a_script(file)


def pairs(catalogue: Catalog) -> Iterator[tuple[str, str]]:
    """Yield each text with its translation; of those that depend on a number both forms."""
    for message in catalogue:
        if message.id:
            yield from zip(forms(message.id), forms(message.string), strict=True)


def of_glossary(part: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each title and definition in a file of the glossary."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield from of_glossary(value, f"{place} {name}")
        elif name in ("title", "meaning"):
            yield f"{place} {name}", value


def forms(texts: str | Sequence[str] | None) -> Sequence[str]:
    """Return a text as a sequence of its forms."""
    return (texts,) if isinstance(texts, str) else texts or ("",)


def differences(text: str, translation: str) -> Iterator[str]:
    """Yield in what a translation must not differ from its text and does, or how one of them is set wrongly."""

    def marks(words: str) -> list[str]:
        return sorted({*re.findall(r"\{[^}]*\}", words)}) + sorted(re.findall(r"</?\w+[^>]*>", words))

    if marks(text) != marks(translation):
        yield "values or tags differ"
    if (text[:1] == " ", text[-1:] == " ") != (translation[:1] == " ", translation[-1:] == " "):
        yield "spaces at its ends differ"
    if re.search(r"[\d}]\s+%", text) or re.search(r"[\d}] *%(?!\})", translation):
        yield "English has no space before a percent sign, German one that does not break"


def said_in_two_ways() -> Iterator[str]:
    """Yield texts that two catalogues translate differently."""
    translations = dict[object, object]()
    for message in (message for folder in CATALOGUES for message in entries(folder)):
        if message.id and translations.setdefault(message.id, message.string) != message.string:
            yield f"two translations: {message.id!r}"


def in_python(file: Path) -> Iterator[str]:
    """Yield calls that compose a text before it is translated, or translate it before an error carries it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for call in calls_for_people(tree):
        if call.keywords and any(isinstance(text, ast.JoinedStr | ast.BinOp) for text in templates(call)):
            yield f"{file}:{call.lineno}: the text is composed before it is translated"
    names = error_classes()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
            inner = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
            if any(getattr(function, "id", "") in ("say", "say_number", "say_message") for function in inner):
                yield f"{file}:{node.lineno}: the error's text is already translated; give its template"


def in_a_script(file: Path) -> Iterator[str]:
    """Yield texts that were found in a script and do not stand in it."""
    script = file.read_text(encoding="utf-8")
    for message in said([file]):
        for text in forms(message.id) if message.id else ():
            if json.dumps(text, ensure_ascii=False) not in script:
                yield f"{file}: {text!r} does not stand in it"


def entries(folder: Path, names: str = "*.po") -> Iterator[Message]:
    """Yield all German entries of a folder of catalogues."""
    for place in sorted((folder / "de").glob(names)):
        with place.open("rb") as file:
            yield from read_po(file, locale="de")


def reasons() -> Iterator[Message]:
    """Yield the entries for errors of the system and of libraries, which no source contains."""
    return (message for message in entries(CATALOGUES[-1], "reasons.po") if message.id)
