"""A chapter: prose beside live figures, questions, and the parts that appear once the questions are answered.

Its claims are checked against the model's numbers while it is read; its attention can be saved as plain torch code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from headlight.analysis.pronouns.pronoun_heads import pronoun_heads
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say, say_message, say_number
from pages.learn.tour import figure, lessons, question, saving, view_fields
from pages.learn.tour.lesson_engine import judging
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.lesson import (
    BrokenLesson,
    Check,
    FigureSpec,
    Lesson,
    LessonError,
    Link,
    Part,
    Prose,
    Question,
)
from pages.learn.tour.lesson_engine.pronoun_experiment import N_PAIRS
from pages.shared import code_expander, prose, readings
from pages.shared.glossary.links import definitions
from pages.shared.page import pages
from pages.shared.recipe import Lines, script
from pages.shared.sources import Source
from pages.shared.view import state
from transformer_core.errors import HeadlightError

ATTENTION = """
tokens = [torch.tensor([ids]) for ids in model_run.inputs]
name = {name!r}
with torch.inference_mode(), tc.capture(model, f"{{name}}.hook_*") as acts:
    {run}(*tokens)
q = acts[f"{{name}}.hook_q"][0, {head}]  # [query, d_head]
k, v = (acts[f"{{name}}.hook_{{what}}"][0, {kv_head}] for what in "kv")  # [key, d_head]
mask = acts[f"{{name}}.hook_mask"][0].expand({n_heads}, -1, -1)[{head}]  # True: the query may attend to the key

scores = {scores}
scores = scores.masked_fill(~mask, float("-inf"))
pattern = scores.softmax(dim=-1).nan_to_num()  # [query, key]; each row sums to 1
z = pattern @ v  # [query, d_head]

torch.testing.assert_close(pattern, acts[f"{{name}}.hook_pattern"][0, {head}])
torch.testing.assert_close(z, acts[f"{{name}}.hook_z"][0, {head}])
print(pattern)
"""
BIASED = """acts[f"{{name}}.hook_attn_scores"][0, {head}]  # q @ k.T, scaled, and the position bias"""
FLIPS = """
found = pronoun_heads(model, tokenizer, n_pairs={n_pairs})
for effect in found.single:  # the share of held-out pairs whose pronoun a head flips, in each direction
    print(effect.heads[0], effect.rates)
"""
# The glossary names of the terms that each chapter introduces, by chapter name.
TERMS: Mapping[str, tuple[str, ...]] = {
    "why-attention": ("attention", "attention-head", "attention-pattern"),
    "tokens-and-embeddings": ("token", "byte-level-bpe", "special-tokens", "tied-embeddings"),
    "positions": ("positional-encoding", "sinusoidal-encoding", "learned-positions"),
    "one-word-six-steps": ("query-key-value", "attention-score", "attention-pattern"),
    "shifted-right": ("teacher-forcing", "causal-mask"),
    "masks": ("causal-mask", "padding-mask"),
    "many-heads": ("attention-head", "residual-stream"),
    "cross-attention": ("encoder-decoder", "self-attention", "cross-attention"),
    "feed-forward-residual-norm": ("feed-forward", "residual-stream", "layer-norm", "pre-norm"),
    "logits-and-softmax": ("logits", "tied-embeddings", "temperature", "greedy-decoding"),
    "training": ("cross-entropy", "teacher-forcing", "label-smoothing", "perplexity"),
    "learning-rate": ("warm-up",),
    "decoding": ("logits", "greedy-decoding", "beam-search", "length-penalty", "temperature"),
    "what-heads-do": ("previous-token-score", "induction-head", "attention-sink", "guided-head"),
    "does-the-picture-matter": ("zero-ablation", "norm-weighted-attention"),
    "il-or-elle": ("activation-patching", "denoising-and-noising", "attention-head"),
    "rows": ("attention-pattern", "dropout"),
    "future": ("causal-mask", "leak-test"),
    "axes": ("query-key-value", "attention-pattern"),
    "roles": ("query-key-value", "cross-attention"),
    "scale": ("attention-score", "attention-entropy"),
    "padding": ("padding-mask", "cross-attention"),
    "word-order": ("positional-encoding", "attention-pattern"),
    "residual": ("residual-stream",),
    "reshape": ("attention-head", "query-key-value"),
    "softmax-twice": ("logits", "cross-entropy"),
    "norm": ("layer-norm", "rmsnorm"),
    "targets": ("teacher-forcing", "cross-entropy"),
}


@dataclass
class ChapterRow:
    """A row of a chapter: texts and questions on the left, figures on the right."""

    left: list[Prose | Question] = field(default_factory=list)
    figures: list[FigureSpec] = field(default_factory=list)


def show(lesson: Lesson | BrokenLesson, *, place: int, all_lessons: Sequence[Lesson | BrokenLesson]) -> None:
    """Draw a chapter, or what is wrong with it."""
    _heading(lesson)
    if isinstance(lesson, BrokenLesson):
        prose.note(say("This lesson cannot be read. {why}.", why=lesson.why))
    else:
        _parts(lesson)
    _ways(place, all_lessons)


def _heading(lesson: Lesson | BrokenLesson) -> None:
    section = getattr(lesson, "section", "")
    above = [lesson.group, f"§ {section}" if section else ""]
    kicker = " · ".join(part for part in above if part)
    prose.html("<p class='hl-tour-kicker'>{}</p><h2 class='hl-tour-title'>{}</h2>", kicker, lesson.title)


def _parts(lesson: Lesson) -> None:
    given = view_fields.answers(lesson.name)
    evidence = lessons.evidence_of(lesson, seed=view_fields.seed(lesson.name) or 0)
    seen = lesson.parts_up_to(len(given))
    for_figures = evidence.hiding(lesson.questions[len(given) :])
    number = 0
    for place, row in enumerate(rows_of(seen)):
        with st.container(key=f"hl-tour-row-{place}"):
            columns = st.columns([10, 11], gap="medium")
        with columns[0]:
            for part in row.left:
                number = _left(lesson, part, evidence, number)
        with columns[1]:
            for at, spec in enumerate(row.figures):
                _calmly(lesson, figure.show, lesson, spec, for_figures, f"{place}-{at}")
    _links(lesson, seen)
    if names := TERMS.get(lesson.name):
        prose.html("<p class='hl-small hl-tour-terms'>{}</p>", prose.linked(definitions(*names)))
    checks(lesson, seen, evidence)
    saving.offer(lesson, rows_of(lesson.parts), evidence)


def _left(lesson: Lesson, part: Prose | Question, evidence: Evidence, number: int) -> int:
    """Draw a text or a question; return the number of the next question."""
    if isinstance(part, Prose):
        _calmly(lesson, _prose, lesson, part, evidence)
        return number
    _calmly(lesson, question.show, lesson, part, number, evidence)
    return number + 1


def _prose(lesson: Lesson, part: Prose, evidence: Evidence) -> None:
    if judging.needs_training(part) and not view_fields.wants_training(lesson.name):
        text = say("Train the model to see its output here.")
        prose.small(text)
        return
    prose.markdown(judging.prose(part, evidence))


def rows_of(parts: Sequence[Part]) -> list[ChapterRow]:
    """Group the parts of a chapter into rows; a question ends its row if figures follow in the next one."""
    rows = [ChapterRow()]
    request = False
    for part in parts:
        if isinstance(part, FigureSpec):
            rows[-1].figures.append(part)
        elif isinstance(part, Prose | Question):
            if request:
                rows.append(ChapterRow())
                request = False
            rows[-1].left.append(part)
            request = isinstance(part, Question)
    joined = rows[:1]
    for row in rows[1:]:
        if row.figures:
            joined.append(row)
        else:
            joined[-1].left += row.left
    return joined


def _calmly(lesson: Lesson, draw: Callable[..., None], *given: object) -> None:
    """Draw a part, or the error that it raises in its place, so that the other parts are still drawn."""
    try:
        draw(*given)
    except LessonError as error:
        prose.note(f"{say_message(error.of(lesson.file))}.")
    except HeadlightError as error:
        prose.note(say("This cannot be shown: {why}.", why=error))


def _links(lesson: Lesson, seen: Sequence[Part]) -> None:
    """Draw the links that open other pages in the matching state."""
    results = [part for part in seen if isinstance(part, Link)]
    if not results:
        return
    try:
        card = lessons.card_of(lesson)
    except HeadlightError:
        return  # the error is already shown above
    with st.container(key="hl-tour-links", horizontal=True, gap="medium"):
        for link in results:
            st.page_link(
                pages()[link.page].script,
                label=prose.plain(link.label),
                icon=":material/arrow_outward:",
                query_params=lessons.view_of(lesson, link, card),
            )


def _ways(place: int, all_lessons: Sequence[Lesson | BrokenLesson]) -> None:
    """Draw the links to the previous and the next chapter."""
    before = all_lessons[place - 1] if place else None
    following = all_lessons[place + 1] if place + 1 < len(all_lessons) else None
    with st.container(key="hl-tour-ways", horizontal=True, horizontal_alignment="distribute"):
        st.button(
            say("Back"),
            key="tour-back",
            icon=":material/arrow_back:",
            disabled=before is None,
            on_click=view_fields.go_to,
            args=(before.name if before else "",),
            help=prose.plain(before.title) if before else None,
            shortcut="Shift+Left",
        )
        if following is not None:
            st.button(
                prose.plain(say("Next: {title}", title=following.title)),
                key="tour-next",
                icon=":material/arrow_forward:",
                icon_position="right",
                type="primary",
                on_click=view_fields.go_to,
                args=(following.name,),
                shortcut="Shift+Right",
            )


def checks(lesson: Lesson, seen: Sequence[Part], evidence: Evidence) -> None:
    """Draw the results of the checks, and the attention as torch code."""
    results = [part for part in seen if isinstance(part, Check)]
    failed = [why for part in results if (why := _fault(lesson, part, evidence))]
    for why in failed:
        prose.note(f"{why}.")
    n = sum(len(part.holds) for part in results)
    if results:
        text = say_number(n, "{n} statement of this chapter verified", "{n} statements of this chapter verified")
        with st.expander(prose.plain(text), icon=":material/error:" if failed else ":material/verified:"):
            prose.html("<ul class='hl-tour-checks'>{}</ul>", prose.each("<li>{}{}</li>", map(_line, results)))
    text = say("This chapter is a text file, {file}. Put your own chapters into the folder lessons.", file=lesson.file)
    code_expander.code(lambda: code_of(lesson), text)


def code_of(lesson: Lesson) -> str:
    """Return torch code that computes the chapter's head and compares it with the model; "" without the model."""
    try:
        card = lessons.card_of(lesson)
    except HeadlightError:
        return ""
    config, usual = card.config, state.last_head(card)
    attention = lesson.attention if lesson.attention in card.attentions else usual.attention
    layer = min(usual.layer if lesson.layer is None else lesson.layer, card.n_layers(attention) - 1)
    head = min(lesson.head or 0, config.n_heads - 1)
    source = Source.of(card)
    model_run = readings.recipe(source, config, lessons.text_of(lesson, card), lesson.target)
    lines = ATTENTION.format(
        name=ATTENTIONS[attention].site(layer).rpartition(".")[0],
        run="model" if config.unembed else "model.final_states",
        head=head,
        n_heads=config.n_heads,
        kv_head=head // (config.n_heads // config.n_kv_heads),
        scores=BIASED.format(head=head)
        if config.has_position_bias and attention != "cross"
        else "q @ k.T / q.shape[-1] ** 0.5"
        if config.scale_scores
        else "q @ k.T",
    )
    attention_in_torch = Lines(lines, (source.recipe()[0], model_run), ("torch", "transformer_core as tc"))
    return script(attention_in_torch, *_flips(lesson, source))


def _flips(lesson: Lesson, source: Source) -> list[Lines]:
    """Return the code that finds the heads that flip pronouns; [] if no figure of the chapter shows them."""
    figures = [part for part in lesson.parts if isinstance(part, FigureSpec)]
    if not any("flips[" in str(value) for figure in figures for value in figure.parameters.values()):
        return []
    return [Lines(FLIPS.format(n_pairs=N_PAIRS), (*source.recipe(), pronoun_heads))]


def _fault(lesson: Lesson, check: Check, evidence: Evidence) -> str:
    """Return why a check fails; "" if it holds."""
    try:
        judging.check(check, evidence)
    except LessonError as error:
        return say_message(error.of(lesson.file))
    except HeadlightError as error:
        return say("This check failed to run: {why}", why=error)
    return ""


def _line(check: Check) -> tuple[prose.Markup, prose.Markup]:
    claims = [check.claim] if check.claim else []
    return prose.each("<span>{}</span>", claims), prose.each(
        "<code>{}</code>", (request.source for request in check.holds)
    )
