"""The lessons of the app: found where they are, and their links open what the pages understand."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pages.shared import (
    architecture_state,
    compare_state,
    decoding_state,
    heads_state,
    lessons,
    masks_state,
    positions_state,
    steps_state,
)
from pages.shared.fields import Field
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.lessons.lesson import Lesson, Link

FIELDS: dict[str, Sequence[Field]] = {
    "architecture": architecture_state.FIELDS,
    "compare": compare_state.FIELDS,
    "decoding": decoding_state.FIELDS,
    "heads": heads_state.FIELDS,
    "masks": masks_state.FIELDS,
    "positions": positions_state.FIELDS,
    "steps": steps_state.FIELDS,
    "train": (),
}
LINKS = [
    (lesson, part)
    for lesson in lessons.here()
    if isinstance(lesson, Lesson)
    for part in lesson.parts
    if isinstance(part, Link)
]


@pytest.mark.parametrize(("lesson", "link"), LINKS, ids=lambda one: getattr(one, "name", getattr(one, "page", "")))
def test_a_links_fields_are_those_of_its_page(lesson: Lesson, link: Link):
    fields = {field.name: field for field in FIELDS[link.page]}
    for name, value in link.fields.items():
        if name not in lessons._OF_HEAD:
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


def test_pages_are_files():
    for file, _ in lessons.PAGES.values():
        assert (lessons.ROOT / "pages" / file).is_file()


def test_a_teachers_folder_can_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert lessons.own_folder() == lessons.ROOT / "lessons"
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    assert lessons.own_folder() == tmp_path
    (tmp_path / "my first.md").write_text("title: Mine\n")
    mine = lessons.here()[-1]
    assert (mine.name, mine.title, mine.group) == ("own.my-first", "Mine", "Your own")
