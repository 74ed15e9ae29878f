"""The links of the chapters: each opens a page on which all that it asks for takes effect.

What takes effect is read from the page: from the code that ran, from its words, and from what its figure was sent.
"""

import html
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.learn.tour import lessons
from pages.learn.tour.lesson_engine.lesson import Lesson, Link
from pages.shared import code_expander
from pages.shared.page import pages
from pages.shared.view import state
from tests.pages.conftest import component, words_of
from transformer_core.analysis import ATTENTIONS, run_text
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.language import speaking

OF_A_WRONG_ADDRESS = (  # said by a page; what the bar says of it are the notes of `state.seed`
    "The address asks for",
    "showing the first one",
    "There is no",
    "is damaged",
    "does not have",
)


def links() -> list[tuple[Lesson, Link]]:
    """All links of the lessons in the language that is spoken."""
    return [
        (lesson, part)
        for lesson in lessons.here()
        if isinstance(lesson, Lesson)
        for part in lesson.parts
        if isinstance(part, Link)
    ]


LINKS = links()
with speaking("de"):
    GERMAN_LINKS = links()
NAMES = [f"{lesson.name}-{link.page}-{place}" for place, (lesson, link) in enumerate(LINKS)]
Asked = Mapping[str, str]
"""What the address of a link says."""


def asked_by(place: int) -> Asked:
    """What a link asks for, which is the same in both languages."""
    lesson, link = LINKS[place]
    asked = lessons.view_of(lesson, link, lessons.card_of(lesson))
    assert asked == lessons.view_of(*GERMAN_LINKS[place], lessons.card_of(lesson))
    assert link.page == GERMAN_LINKS[place][1].page
    return asked


@cache
def output_of(model: str, text: str, target: str | None) -> str:
    """What a shipped model makes of a text, by itself or forced."""
    return run_text(*tc.load(lessons.models.available()[model].path), text, target=target).output


def of_heads(asked: Asked) -> Iterator[str]:
    yield f"attention_maps['{asked['attention']}']"
    yield f"HeadShare(layer={asked['layer']}, head={asked['head']})"


def of_steps(asked: Asked) -> Iterator[str]:
    yield f"attention='{asked['attention']}',"
    yield f"layer={asked['layer']},"
    yield f"head={asked['head']},"
    yield f"matrix.values[{asked['query']}]"


def of_positions(asked: Asked) -> Iterator[str]:
    if asked["part"] == "table":
        yield f"fixed_table('{asked['encoding']}', {asked['n']}, {asked['width']})"
    else:
        assert (asked["part"], asked["in"]) == ("model", "shuffle")
        yield f"attention='{asked['attention']}'"
        yield f"found.shuffled[{asked['layer']}, {asked['head']}]"


def of_masks(asked: Asked) -> Iterator[str]:
    if asked["part"] == "training":
        yield "small encoder-decoders in turn"
        return
    assert asked["part"] == "edit"
    yield f"attention='{asked['attention']}')"
    yield f"layer={asked['layer']}, head={asked['head']})"
    if "preset" in asked:
        yield f"MaskChoice(preset='{asked['preset']}'"
    if "padding" in asked:
        yield f"('source',), {asked['padding']})"


def of_architecture(asked: Asked) -> Iterator[str]:
    yield f"boxes['{asked['block']}']" if "block" in asked else "captured.streams()"
    if asked.get("show") == "code":
        yield "class LayerNorm(nn.Module)"
    assert asked.get("part") in (None, "stream") and asked.get("show") in (None, "code")


def of_decoding(asked: Asked) -> Iterator[str]:
    yield {"heads": "cross_rows.values", "led": "comparison.parting", "beams": "search_beams("}[asked["part"]]
    if "step" in asked:
        yield f"branch[{int(asked['step']) - 1}]"
        yield f"token {asked['step']}, after"
    if "head" in asked and asked["part"] == "heads":
        yield f"layer={asked['layer']}, head={asked['head']}"


def of_compare(asked: Asked) -> Iterator[str]:
    layer, head = asked["layer"], asked["head"]
    if "btext" in asked:
        yield repr(asked["btext"])
        yield f"shared, ({layer}, {head}), ({layer}, {head}))"
    if "bchange" in asked:
        site = ATTENTIONS[asked["attention"]].site(int(layer), "hook_z")
        yield f"{{'{site}': tc.zero_heads([{head}])}}"
        yield f"{asked['attention']} L{layer}.H{head} zero-ablated"
    if asked.get("view") == "effect":
        yield "Effect of B’s change on A’s output"
    assert asked.get("view") in (None, "effect")


def of_interventions(asked: Asked) -> Iterator[str]:
    if "stack" in asked:
        yield "Patch("
        yield "qu'elle était trop fatiguée."
    if asked.get("view") == "sweep":
        yield "Metric: logit of “il” − logit of “elle”"


PROMISED: Mapping[str, Callable[[Asked], Iterator[str]]] = {
    "heads": of_heads,
    "steps": of_steps,
    "positions": of_positions,
    "masks": of_masks,
    "architecture": of_architecture,
    "decoding": of_decoding,
    "compare": of_compare,
    "interventions": of_interventions,
    "train": lambda asked: iter(()),  # it looks at trainings
}
"""What is to be read on each page where a link's wishes took effect."""

OF_LABELS = {  # what a label promises in words; each must be in one link's fields at least
    "ablated": "bchange",
    "code": "show",
    "wide": "text",
    "this position": "step",
    "pronoun": "step",
    "target": "target",
    "Train": "part",
}


@pytest.mark.parametrize("place", range(len(LINKS)), ids=NAMES)
def test_a_links_fields_are_those_of_its_page(place: int):
    _, link = LINKS[place]
    fields = {field.name: field for field in pages()[link.page].fields}
    for name, value in link.fields.items():
        if name not in lessons._OF_VIEW:
            fields[name].read(value)  # raises where the page would refuse it


def test_a_linked_head_is_there():
    for lesson, _ in LINKS:
        card = lessons.card_of(lesson)
        if lesson.attention:
            assert lesson.attention in card.attentions, lesson.name
            assert (lesson.layer or 0) < card.n_layers(lesson.attention)
        assert (lesson.head or 0) < card.config.n_heads


def test_a_linked_block_is_in_the_drawing():
    names = set(blueprint_of(lessons.models.available()["en-fr"].config).boxes)
    blocks = {link.fields["block"] for _, link in LINKS if "block" in link.fields}
    assert blocks <= names, blocks - names


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(LINKS)), ids=NAMES)
def test_a_link_opens_what_it_promises(open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, place: int):
    """The page says nothing of a wrong address, holds what the link asks for, and has computed with it."""
    notes: list[list[str]] = []
    seed = state.seed

    def overheard(*given: Any) -> list[str]:
        notes.append(seed(*given))
        return notes[-1]

    monkeypatch.setattr(state, "seed", overheard)
    link = LINKS[place][1]
    asked = asked_by(place)
    app = open_app("tour")
    for name, value in asked.items():
        app.query_params[name] = value
    app.switch_page(pages()[link.page].script).run()
    assert len(notes) == 2 - (link.page == "train") and not any(notes)
    app.session_state[code_expander.CODE] = True
    app.run()
    assert not app.exception
    words = html.unescape(words_of(app))
    assert not [told for told in OF_A_WRONG_ADDRESS if told in words] and not [*app.warning, *app.error, *app.info]
    fields = {field.name: field for field in pages()[link.page].fields}
    for name, value in asked.items():
        if name in fields:
            assert app.session_state[fields[name].key] == fields[name].read(value), name
        elif link.page != "train":
            assert str(app.session_state[getattr(state, name.upper()).key]) == value, name
    code = "\n".join(code.value for code in app.code)
    seen = f"{code}\n{re.sub('<[^>]*>', ' ', words)}"
    for promised in PROMISED[link.page](asked):
        assert promised in seen, promised
    if link.page == "train":
        while any(button.label == "Cancel" for button in app.button):  # the corpus is analysed for the first time
            time.sleep(0.5)
            app.run()
        assert "Schedule" in {box.label for box in app.selectbox} or "schedule" not in link.label
        return
    if "tc.load(" in code:
        assert f"tc.load('checkpoints/{asked['model']}')" in code
    if "target" in asked:
        assert asked["target"] in {box.value for box in app.text_input}
    else:
        assert output_of(asked["model"], asked["text"], None) in words
    if link.page == "steps":
        at = json.loads(_header(component(app, "steps").bytes))["at"]
        assert {"stage": asked["stage"], "query": int(asked["query"])}.items() <= at["value"].items()


def _header(data: bytes) -> bytes:
    (length,) = (int.from_bytes(data[:4], "little"),)
    return data[4 : 4 + length]


@pytest.mark.parametrize(("word", "field"), OF_LABELS.items())
def test_what_a_label_names_is_in_the_links_address(word: str, field: str):
    found = [place for place, (_, link) in enumerate(LINKS) if re.search(rf"\b{word}\b", link.label)]
    assert found
    for place in found:
        assert field in asked_by(place) or LINKS[place][1].page == "train", LINKS[place][1].label
