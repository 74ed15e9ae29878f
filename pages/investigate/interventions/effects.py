"""What the stack changes: the output, each of its tokens, every head's pattern, and the residual stream."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv, pattern_arrays, pattern_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid, attention_heatmap
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.head_grid import head_grid
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.quantities import all_rounded
from headlight.language import say
from pages.components import figures
from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.data import InterventionsData
from pages.shared import prose
from pages.shared.drawing import looks
from pages.shared.lines import output_in_a_line
from pages.shared.recipe import Print, call, literal, named, value_of
from transformer_core.errors import mark

HEIGHT, BARS = 340, 190  # px
PATTERN_HEIGHT = 380  # px
PATTERN_KEY = "interventions-pattern"
OF_TOKENS = (  # numbers of each output token, as in the saved table
    *("logit_difference_before", "logit_difference_after", "log_prob_before", "log_prob_after"),
    *("rank_before", "rank_after", "kl"),
)
OF_HEADS = "by attention: [layer, head], Jensen-Shannon distance"
NOTHING = mark(
    "No intervention is active, so nothing changes: add one, or switch one on. A click on a cell of a pattern edits it."
)
ABOUT_RESIDUAL = mark(
    "‖after − before‖ / ‖before‖ of the vector at each position; depth 0 is the sum of the embeddings."
)


def outputs(data: InterventionsData) -> None:
    """Say what the model writes without and with the stack, or, where it only reads, the most probable next token."""
    if data.only_reads:
        name = say("Most probable next token")
        before, after = (data.label(best[-1]) for best in data.result.best)
    else:
        name = say("Output of the unchanged model")
        before, after = data.base.free_output, data.output
    rows = [(name, before)]
    changed = say("not applied") if data.error else say("unchanged") if before == after else say("changed")
    if data.stack.enabled or data.error:
        rows.append((say("With the stack ({changed})", changed=changed), after))
    prose.html(
        "<div class='hl-interventions-outputs'>{}</div>",
        prose.each(
            "<p><span>{}</span> <bdi>{}</bdi></p>", ((name, output_in_a_line(output) or "…") for name, output in rows)
        ),
    )


def tokens(data: InterventionsData) -> None:
    """Draw how each token of the base output changes."""
    from headlight.analysis.interventions.comparison import token_numbers

    result, title = data.result_recipe, _title(data)
    drawn = call(
        label_bars,
        {say("logit difference"): result.logit_difference_change, say("log-probability"): result.effect.change},
        result.labels,
        title=title,
        label_name="",
        value_name=say("change (nats)"),
        **looks(760, BARS),
    )
    data.draw(
        drawn,
        named("numbers", call(token_numbers, result)),
        "by name: [token]; nats",
        title=title,
        name="output-tokens",
        key="interventions-tokens",
        csv=lambda numbers: matrix_csv(
            np.stack([numbers[name] for name in OF_TOKENS]).T,
            "token",
            data.result.labels,
            "quantity",
            OF_TOKENS,
            "value",
        ),
    )


def _title(data: InterventionsData) -> str:
    if not data.pairs:
        return say("Change per output token, teacher-forced on the unchanged output")
    token, other = map(data.label, data.result.pairs[data.index])
    return say(
        "Change per output token; logit difference at token {index}: logit({token}) − logit({other})",
        index=data.index,
        token=token,
        other=other,
    )


def numbers(data: InterventionsData) -> list[Print]:
    """Draw all numbers of the output tokens as a table; return the lines that print those that no figure shows."""
    result = data.result
    columns = {
        say("token"): result.labels,
        say("most probable after"): [data.label(token) for token in result.best[1]],
        say("compared tokens"): [" − ".join(map(data.label, pair)) for pair in result.pairs],
        say("logit difference"): _changes(result.logit_differences),
        say("log-probability (nats)"): _changes((result.effect.before, result.effect.after)),
        say("rank"): _changes(result.ranks, decimals=0),
        say("KL (nats)"): all_rounded(result.effect.kl, 3),
    }
    rows = zip(*columns.values(), strict=True)
    prose.html(
        "<div class='hl-interventions-numbers'><table class='hl-experiment-results'><tr>{}</tr>{}</table></div>",
        prose.each("<th>{}</th>", columns),
        prose.each("<tr>{}</tr>", (prose.each("<td><bdi>{}</bdi></td>", row) for row in rows)),
    )
    recipe = data.result_recipe
    return [
        Print(recipe.ranks, "[before and after, token]"),
        Print(recipe.effect.before, "[token], nats"),
        Print(recipe.effect.after, "[token], nats"),
    ]


def _changes(both: Iterable[Iterable[float]], decimals: int = 3) -> list[str]:
    """Return "before → after" for each output token, from the numbers [before and after, token]."""
    pairs = zip(*(all_rounded(values, decimals) for values in both), strict=True)
    return [f"{one} → {other}" for one, other in pairs]


def heads(data: InterventionsData) -> list[Print]:
    """Draw how much every head's pattern changes."""
    view, changes = data.view, data.result_recipe.head_changes
    title = say("Change of every head’s pattern (Jensen-Shannon distance)")
    most = max(float(values.max()) for values in data.result.head_changes.values())
    drawn = call(
        head_grid,
        {say(ATTENTIONS[name].title): changes[name] for name in data.result.head_changes},
        title=title,
        what=say("distance"),
        limits=(0.0, max(0.05, most)),
        chosen=(say(ATTENTIONS[view.attention].title), view.layer, view.head),
        arranged="beside",
        **looks(800, HEIGHT),
    )
    data.draw(drawn, changes, OF_HEADS, title=title, name="head-changes", key="interventions-heads", csv=_heads_csv)
    return [Print(changes, OF_HEADS)]


def _heads_csv(changes: Mapping[str, np.ndarray]) -> str:
    rows = [f"{name} L{layer}" for name, values in changes.items() for layer in range(len(values))]
    values = np.concatenate([*changes.values()])
    return matrix_csv(values, "layer", rows, "head", range(values.shape[1]), "distance")


def residual(data: InterventionsData) -> list[Print]:
    """Draw how much the residual stream changes, by depth and position."""
    changes = data.result.residual_changes
    height = HEIGHT if len(changes) == 1 else 230
    most = max(float(values[np.isfinite(values)].max(initial=0.0)) for values in changes.values()) or 1.0
    for stack, values in changes.items():
        labels = data.run.source if stack == "encoder" else data.run.target
        title = say("Residual stream of the {stack}: relative change", stack=say(words.STACKS[stack]))
        recipe = data.result_recipe.residual_changes[stack]
        drawn = call(
            number_panels,
            {"": call(np.nan_to_num, recipe, posinf=0.0)},
            call(
                TokenGrid,
                [say("depth {depth}", depth=depth) for depth in range(len(values))],
                labels,
                query_name="",
                key_name=say("position"),
                **looks(760, height),
            ),
            title=title,
            limits=(0.0, most),  # one range of colors, so that both stacks can be compared
        )
        data.draw(
            drawn,
            literal({"changes": recipe, "tokens": call(np.array, labels)}),
            "[depth, position]",
            title=title,
            name=f"residual-{stack}",
            key=f"interventions-residual-{stack}",
            csv=partial(_residual_csv, labels),
        )
    prose.small(say(ABOUT_RESIDUAL))
    return [Print(data.result_recipe.residual_changes, "by stack: [depth, position]")]


def _residual_csv(labels: Sequence[str], numbers: Mapping[str, np.ndarray]) -> str:
    changes = numbers["changes"]
    return matrix_csv(changes, "depth", range(len(changes)), "position", labels, "change")


def code(data: InterventionsData) -> list[Print]:
    """Return the lines that print what is shown."""
    result = data.result_recipe
    next_tokens = Print(result.best[:, -1], "[before and after], ids of the most probable next token")
    written = [Print(data.base_recipe.free_output), Print(data.output_recipe)]
    return [
        *([next_tokens] if data.only_reads else written),
        Print(result.logit_differences, "[before and after, token]"),
        Print(result.effect.change, "[token], nats"),
        Print(result.effect.kl, "[token], nats"),
    ]


def pattern(data: InterventionsData) -> list[Print]:
    """Draw both patterns beside each other."""
    view, run = data.view, data.base_recipe.run
    labels = named("queries, keys", run.labels(view.attention))
    queries, keys = value_of(labels)
    mask = named("mask", run.attention_maps[view.attention].mask(view.layer))
    who = f"L{view.layer}.H{view.head}"  # the attention is chosen beside it, and a longer title has no room
    is_group = view_fields.SCOPE.value == "group"
    cell = None if is_group else view_fields.CELL.value
    columns = [*st.columns(2, gap="small")]
    titles = (say("{who}, unchanged", who=who), say("{who}, with the stack", who=who))
    place = (view.layer, view.head)
    both = [of.patterns[view.attention][place] for of in (data.base_recipe.forced, data.result_recipe)]
    keys_of = (f"{PATTERN_KEY}-before", PATTERN_KEY)
    if not data.stack.enabled:  # the second pattern would be the first one again
        with columns.pop():
            prose.small(say(NOTHING))
    for column, values, title, key in zip(columns, both, titles, keys_of, strict=False):
        weights = named("pattern", values)
        drawn = call(
            attention_heatmap,
            weights,
            call(TokenGrid, *labels, marked=cell or (None, None), **looks(460, PATTERN_HEIGHT)),
            title=title,
            mask=mask,
            framed=view_fields.GROUP.value if is_group else (),
        )
        with column:
            data.draw(
                drawn,
                named("numbers", call(pattern_arrays, weights, *labels, mask)),
                "[query, key]",
                title=title,
                name=key,
                key=key,
                csv=lambda numbers: pattern_csv(numbers["pattern"], queries, keys, numbers["mask"]),
                cell=cell,
                on_cell=partial(_choose, key),
                on_window=partial(_choose_box, data, key) if is_group else None,
                stays_whole=True,
                link="interventions",
            )
    return [Print(pattern, "[query, key]") for pattern in both]


def _choose(key: str) -> None:
    cell = figures.sent_cell(key)
    view_fields.choose_cell(cell)
    if cell is not None:
        view_fields.ADD.set("cells")


def _choose_box(data: InterventionsData, key: str) -> None:
    """Add the cells of a drawn box that the mask allows."""
    box = figures.sent_window(key)
    if box is not None:
        allowed = data.run.masks[data.view.attention][data.view.layer]
        view_fields.add_cells([(query, cell) for query in box[0] for cell in box[1] if allowed[query, cell]])
        view_fields.ADD.set("cells")
