"""What a chapter claims, checked on the model's numbers while it is read; and its attention in plain torch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say, say_message, say_number
from pages.learn.tour import lessons
from pages.shared import code_expander, prose, readings
from pages.shared.recipe import Lines, script
from pages.shared.sources import Source
from pages.shared.view import state
from transformer_core.errors import HeadlightError

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.evidence import Evidence
    from pages.learn.tour.lesson_engine.lesson import Check, Lesson, Part

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


def show(lesson: "Lesson", seen: "Sequence[Part]", evidence: "Evidence") -> None:
    """Draw what was checked, and the attention in torch."""
    from pages.learn.tour.lesson_engine.lesson import Check

    results = [part for part in seen if isinstance(part, Check)]
    failed = [why for part in results if (why := _fault(lesson, part, evidence))]
    for why in failed:
        prose.note(f"{why}.")
    n = sum(len(part.holds) for part in results)
    if results:
        text = say_number(
            n,
            "{n} statement of this chapter verified on the model’s activations",
            "{n} statements of this chapter verified on the model’s activations",
        )
        with st.expander(prose.plain(text), icon=":material/error:" if failed else ":material/verified:"):
            prose.html("<ul class='hl-tour-checks'>{}</ul>", prose.each("<li>{}{}</li>", map(_line, results)))
    text = say("This chapter is a text file, {file}. Put your own chapters into the folder lessons.", file=lesson.file)
    code_expander.code(lambda: code_of(lesson), text)


def code_of(lesson: "Lesson") -> str:
    """Return the attention of the chapter's head in torch, held to the model's; none where its model is not here."""
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
        if config.positions in ("alibi", "relative_buckets") and attention != "cross"
        else "q @ k.T / q.shape[-1] ** 0.5"
        if config.scale_scores
        else "q @ k.T",
    )
    attention_in_torch = Lines(lines, (source.recipe()[0], model_run), ("torch", "transformer_core as tc"))
    return script(attention_in_torch, *_flips(lesson, source))


def _flips(lesson: "Lesson", source: Source) -> list[Lines]:
    """Return the lines that find which heads flip pronouns, where figures of the chapter show it."""
    from pages.learn.tour.lesson_engine.lesson import FigureSpec

    figures = [part for part in lesson.parts if isinstance(part, FigureSpec)]
    if not any("flips[" in str(value) for figure in figures for value in figure.parameters.values()):
        return []
    from headlight.analysis.pronouns.pronoun_heads import pronoun_heads
    from pages.learn.tour.lesson_engine.pronoun_experiment import N_PAIRS

    return [Lines(FLIPS.format(n_pairs=N_PAIRS), (*source.recipe(), pronoun_heads))]


def _fault(lesson: "Lesson", check: "Check", evidence: "Evidence") -> str:
    """Return why a check does not hold; "" where it does."""
    from pages.learn.tour.lesson_engine import judging
    from pages.learn.tour.lesson_engine.errors import LessonError

    try:
        judging.check(check, evidence)
    except LessonError as error:
        return say_message(error.of(lesson.file))
    except HeadlightError as error:
        return say("This check failed to run: {why}", why=error)
    return ""


def _line(check: "Check") -> tuple[prose.Markup, prose.Markup]:
    claims = [check.claim] if check.claim else []
    return prose.each("<span>{}</span>", claims), prose.each(
        "<code>{}</code>", (request.source for request in check.holds)
    )
