"""The glossary: each term has its own name, a formula that can be drawn, and a view that its page takes."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import streamlit

from headlight.analysis.heads import many_texts, text_measures
from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.language import LANGUAGES
from pages.explore.heads import data as heads
from pages.learn.positions.data import TERMS as OF_POSITIONS
from pages.learn.positions.view_fields import ENCODINGS
from pages.learn.tour import lessons
from pages.learn.tour.chapter import TERMS as OF_CHAPTERS
from pages.shared.glossary import terms, topics
from pages.shared.glossary.links import definitions
from pages.shared.page import pages
from pages.shared.prose import linked, with_links
from pages.train.train.settings import _TERMS as OF_SETTINGS
from transformer_core.config import ModelConfig
from transformer_core.training.config import TrainingConfig

PAGES = Path(__file__).resolve().parents[4] / "pages"
CHECKPOINTS = PAGES.parent / "checkpoints"
OF_ALL_PAGES = {"model", "text", "attention", "layer", "head"}
DRAW = """
const {{ default: katex }} = await import({katex});
for (const formula of {formulas}) katex.renderToString(formula, {{ throwOnError: true, strict: "error" }});
"""


def test_no_two_terms_share_a_name_or_a_title():
    for language in LANGUAGES:
        for part in ("name", "title", "meaning"):
            listed = [getattr(term, part) for topic in topics(language).values() for term in topic.terms]
            assert len({*listed}) == len(listed) >= 60


def test_the_page_that_shows_a_term_takes_its_view():
    for term in terms().values():
        fields = {field.name: field for field in pages()[term.page].fields}
        assert term.view.keys() <= fields.keys() | OF_ALL_PAGES, term.name
        for field in term.view.keys() & fields.keys():
            fields[field].read(term.view[field])
        if model := term.view.get("model"):
            assert (CHECKPOINTS / model / "card.json").is_file(), term.name


def test_every_formula_can_be_drawn(tmp_path: Path):
    node = shutil.which("node", path=str(PAGES.parent / ".venv" / "bin")) or shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    (katex,) = Path(streamlit.__file__).parent.glob("static/static/js/katex.*.js")
    formulas = [rf"\displaystyle {term.formula}" for term in terms().values() if term.formula]
    script = tmp_path / "draw.mjs"
    script.write_text(DRAW.format(katex=json.dumps(katex.as_uri()), formulas=json.dumps(formulas)))
    ran = subprocess.run([node, script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_every_measure_encoding_setting_and_chapter_has_its_terms():
    assert MEASURE_TEXTS.keys() == {*text_measures.MEASURES, *many_texts.MEASURES}
    assert OF_POSITIONS.keys() == {*ENCODINGS}
    settings = {*ModelConfig.__dataclass_fields__, *TrainingConfig.__dataclass_fields__}
    assert OF_SETTINGS.keys() <= settings
    assert OF_CHAPTERS.keys() == {lesson.name for lesson in lessons.here()}
    single = [heads.QUANTITY_TERMS, OF_POSITIONS, OF_SETTINGS]
    several = [heads.ATTENTION_TERMS, OF_CHAPTERS]
    named = {name for of in single for name in of.values()} | {of.term for of in MEASURE_TEXTS.values()}
    assert named | {name for of in several for names in of.values() for name in names} <= terms().keys()


def test_a_link_opens_a_tab_of_its_own_at_the_term():
    (link,) = definitions("induction-score")
    assert link.address == "glossary?term=induction-score"
    assert f"<a href='glossary?term=induction-score' target='_blank' title='{link.about[:20]}" in linked([link])
    assert with_links("1 * 2.", [link]) == r"1 \* 2. Glossary: [Induction score](glossary?term=induction-score)"
    assert (linked([]), with_links("a", [])) == ("", "a")
    with pytest.raises(KeyError):
        definitions("nonsense")
