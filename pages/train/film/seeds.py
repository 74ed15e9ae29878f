"""Two trainings side by side with matched heads: head numbers are arbitrary, but their functions may recur."""

import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import attention_heatmap, head_matrix
from headlight.language import say, say_number
from pages.shared import drawing, prose, run_commands, run_readings, runs, ticking
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Print, call
from pages.shared.run_figures import weights_folder
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.film import film_readings, recipes
from pages.train.film.film_readings import SnapshotData
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.heads.likeness import HeadMatching
    from headlight.analysis.training.film_reading import SnapshotReading

_OTHER_RUN = Kept("film-other-run")
TICK = 4.0  # seconds between two checks of an unfinished training
MANY_PAIRS = 48  # if there are more, only those of the chosen layer are listed
N_TEXTS = 4  # texts for matching heads: the user's and examples
MEAN_SIMILARITY = mark(
    "Head indices are arbitrary; they depend on the seed. Mean similarity of {attention} heads with the <b>same "
    "index</b>: <b>{same:.2f}</b>; <b>matched</b> by their patterns: <b>{matched:.2f}</b>. (1: identical patterns; 0: "
    "patterns that never attend to the same key; on {texts}.)"
)


def comparable(run: Run, runs: Mapping[str, Run], wanted: str) -> dict[str, Run]:
    """Return the runs whose heads can be matched with those of a run, or could be once their film begins.

    `wanted` was started here and counts before its folder describes it.
    """
    from headlight.analysis.training.film_reading import reads_like

    film, others = run_readings.film(run), {}
    for name, other in runs.items():
        if name == run.name or name.isdecimal():  # in the address, such a name would be taken for a step
            continue
        try:
            has_begun = bool(run_readings.film(other).snapshots())
            is_like = reads_like(film, run_readings.film(other)) if has_begun else _is_sibling(run, other)
            if is_like or (name == wanted and other.request is None):
                others[name] = other
        except (HeadlightError, OSError):
            continue
    return others


def show(data: SnapshotData, others: Mapping[str, Run]) -> None:
    """Draw the choice of the other training, the matrix of all pairs, and the chosen head beside its partner."""
    runs.launcher().warm_up()
    run, wanted = data.run, run_state.OTHER.value
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if others:
            _OTHER_RUN.set(wanted if wanted in others else next(iter(others)))
            _OTHER_RUN.selectbox(
                say("Compare {run} with", run=run.name),
                [*others],
                name=lambda name: others[name].title,
                take=lambda name: run_state.OTHER.set(name),
                width=320,
            )
        if run.request is not None:
            st.button(
                say("Train with another seed"),
                key="film-sibling",
                icon=":material/casino:",
                on_click=_train_sibling,
                args=(run, others),
                help=say("Starts the same training with the next seed; it appears here once it has started"),
            )
    if not others:
        none = say("There is no other training with this architecture and tokenizer to match heads with.")
        prose.paragraph(none)
        return
    other = others[_OTHER_RUN.value]
    if wanted not in (other.name, run.name):
        prose.note(
            say(
                "There is no training “{wanted}” with this architecture; {other} is shown instead.",
                wanted=wanted[:60],
                other=other.name,
            )
        )
    run_state.OTHER.set(other.name)
    _compare(data, other)


def _compare(data: SnapshotData, other: Run) -> None:
    """Match the heads of both, repeatedly while the other is being trained."""
    if other.is_at_work:
        ticking.look_again(after=TICK)
        trained = say("{run} is training: {far}.", run=other.name, far=other.far)
        prose.small(trained)
    snapshots = run_readings.film(other).snapshots()
    if not snapshots:
        prose.paragraph(say("{run} has no snapshots yet.", run=other.name))
        return
    step = min(snapshots, key=lambda snapshot: abs(snapshot - data.step))
    try:
        matching, texts = _match(data, other, step)
        partner = film_readings.read_one(run_readings.source(other, step), data.read.reading.fixed)
    except HeadlightError as error:
        prose.warning(say("The two cannot be compared: {error}.", error=error))
        return
    _draw(data, other, step, matching, partner, texts)


def _match(data: SnapshotData, other: Run, step: int) -> "tuple[HeadMatching, list[str]]":
    """Return the matching of the chosen attention's heads on the text and some examples, and those examples."""
    from headlight.analysis.heads.likeness import match_heads

    attention, own, text = data.head.attention, data.read.reading, run_state.TEXT.value
    texts = [other_text for other_text in run_readings.examples(data.run) if other_text != text][: N_TEXTS - 1]
    fixed = [own.fixed, *(film_readings.fixed(data.run, own.steps.tolist(), text, "") for text in texts)]
    patterns = [own.patterns[attention][data.place]]
    masks = [np.logical_or.reduce(own.masks[attention])]
    for tokens in fixed[1:]:
        one = film_readings.read_one(run_readings.source(data.run, data.step), tokens)
        patterns.append(one.patterns[attention])
        masks.append(np.logical_or.reduce(one.masks[attention]))
    others = [film_readings.read_one(run_readings.source(other, step), tokens).patterns[attention] for tokens in fixed]
    return match_heads(patterns, others, masks=masks), texts


def _draw(
    data: SnapshotData,
    other: Run,
    step: int,
    matching: "HeadMatching",
    partner: "SnapshotReading",
    texts: Sequence[str],
) -> None:
    run, chosen, all_texts = data.run, data.head, [run_state.TEXT.value, *texts]
    title = say(ATTENTIONS[chosen.attention].title)
    similarity = prose.say_markup(
        MEAN_SIMILARITY,
        attention=say(ATTENTIONS[chosen.attention].inline),
        same=matching.mean_same_number,
        matched=matching.mean_matched,
        texts=say_number(len(all_texts), "one text", "{n} texts"),
    )
    prose.paragraph(similarity)
    names = tuple(say("{name}, step {step:,}", name=of.name, step=at) for of, at in ((run, data.step), (other, step)))
    with st.container(key="hl-film-seeds"):
        columns = st.columns(3, gap="small")
    with columns[0]:
        recipe = recipes.matching(data, other, step, texts, matching)
        drawing.draw(
            call(head_matrix, recipe.similarity, recipe.partners, n_heads=matching.n_heads, names=names, title=title),
            Print(recipe.similarity, "[head, head of the other training]"),
            Print(recipe.partners, "[head]"),
            title=title,
            name=f"{run.name}-{other.name}-heads",
            key="film-matrix",
            csv=lambda: _csv(matching),
            arrays=lambda: {"similarity": matching.similarity, "partners": np.array(matching.partners)},
            model=weights_folder(run.path, data.step),
            view=run_state.in_words,
            state_of=lambda: {"texts": all_texts, "other": drawing.model_of(weights_folder(other.path, step))},
            height=None,
        )
    layer, head = matching.partner(chosen.layer, chosen.head)
    theirs = partner.patterns[chosen.attention][layer, head]
    their_axes = data.axes_of(chosen.attention) | {"mask": partner.masks[chosen.attention][layer]}
    sides = (
        ("ours", run, data.step, chosen[1:], data.pattern(data.place), data.axes),
        ("theirs", other, step, (layer, head), theirs, their_axes),
    )
    for column, title, (side, of, at, place, values, axes) in zip(columns[1:], names, sides, strict=True):
        with column:
            recipes.draw(
                data,
                attention_heatmap,
                (recipes.snapshot(data, at, side, run=None if of is run else of), place, values),
                of=(of, at),
                axes=axes,
                title=say("{name}: L{layer}.H{head}", name=title, layer=place[0], head=place[1]),
                name=f"{of.name}-{chosen.attention}-layer{place[0]}-head{place[1]}",
                key=f"film-seed-{side}",
                width=360,
            )
    _pairs(data, matching)


def _pairs(data: SnapshotData, matching: "HeadMatching") -> None:
    """List the pairs; a click on one chooses its head."""
    aside = say("this training ↔ the other: similarity (same index in brackets)")
    terms = prose.linked(definitions("matched-heads"))
    prose.html("<div class='hl-label'>{}<span>{}</span>{}</div>", say("Matched heads"), aside, terms)
    layers = [data.head.layer] if len(matching.partners) > MANY_PAIRS else range(matching.n_layers)
    with st.container(key="hl-film-pairs", gap=None):
        for layer, head in product(layers, range(matching.n_heads)):
            number = layer * matching.n_heads + head
            other_layer, other_head = matching.partner(layer, head)
            words = say(
                "L{layer}.H{head} ↔ L{other_layer}.H{other_head}: {alike:.2f} ({same:.2f})",
                layer=layer,
                head=head,
                other_layer=other_layer,
                other_head=other_head,
                alike=matching.matched[number],
                same=matching.similarity[number, number],
            )
            st.button(
                f"**{prose.plain(words)}**" if (layer, head) == data.head[1:] else prose.plain(words),
                key=f"film-pair-of-{layer}-{head}",
                type="tertiary",
                on_click=run_state.go_to,
                args=(data.step, data.head.attention, layer, head),
            )


def _csv(matching: "HeadMatching") -> str:
    """Return the similarities as a table with one line for each pair."""
    lines = ["layer_a,head_a,layer_b,head_b,similarity,matched"]
    for a, row in enumerate(matching.similarity.tolist()):
        for b, similarity in enumerate(row):
            places = *divmod(a, matching.n_heads), *divmod(b, matching.n_heads)
            lines.append(",".join(map(str, (*places, f"{similarity:.6f}", int(matching.partners[a] == b)))))
    return "\n".join(lines) + "\n"


def sibling(run: Run, others: Mapping[str, Run]) -> tuple[str, list[str]]:
    """Return the name and the arguments of the same training with the next unused seed."""
    words, own_seed = _split(run)
    seed = 1 + max([own_seed, *(_split(other)[1] for other in others.values() if _is_sibling(run, other))])
    return run_commands.free_name(f"{run.name.partition('-seed')[0]}-seed{seed}"), [*words, "--seed", str(seed)]


def _is_sibling(run: Run, other: Run) -> bool:
    """Return whether two runs were requested with the same arguments except for the seed."""
    return run.request is not None and other.request is not None and _split(run)[0] == _split(other)[0]


def _split(run: Run) -> tuple[list[str], int]:
    """Return the arguments of `train` that made a run, without its folder and seed; and the seed."""
    request = run.request or {}
    words = shlex.split(str(request.get("command", "")))
    words = words[words.index("train") + 1 :] if "train" in words else []
    kept = []
    while words:
        word = words.pop(0)
        if word in ("--run", "--seed") and words:
            words.pop(0)
        else:
            kept.append(word)
    return kept, int(request.get("training", {}).get("seed", 0))


def _train_sibling(run: Run, others: Mapping[str, Run]) -> None:
    name, arguments = sibling(run, others)
    try:
        run_commands.start(name, [*arguments, "--device", "auto"])
    except HeadlightError as error:
        run_state.NOTE.set(say("The training was not started: {error}.", error=error))
        return
    run_state.OTHER.set(name)
    run_state.NOTE.set(say("{name} has started; it is compared below while it trains.", name=name))
