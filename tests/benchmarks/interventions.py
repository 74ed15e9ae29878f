"""What one edit costs: all consequences of a stack, on each shipped model and on one of GPT-2 small's size; a sweep."""

from collections.abc import Callable

import transformer_core as tc
from tests.benchmarks.imported_gpt2 import imported_gpt2
from tests.benchmarks.interleaved import Row, interleaved, percentile_95
from transformer_core.analysis.interventions import (
    Ablation,
    CellEdit,
    Component,
    Patch,
    SourceRuns,
    Stack,
    attribution,
    consequences,
    free_output,
    read_base,
    sweep,
    sweep_components,
)
from transformer_core.analysis.interventions.records import AttentionName

TITLE = "Consequences of one edit: a capture pass and a decoding, the base run and the source run known"

TEXTS = {
    "en-fr": (
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
    ),
    "dates": ("July 4th, 1976", "May 3rd, 1986"),
    "stories": (
        "One sunny morning, Mia took her red ball to the park.",
        "One sunny morning, Tom took his red ball to the park.",
    ),
    "induction": ("moon basket river owl candle fern moon", "fox lamp cherry stone boat lily fox"),
    "fill-in": ("At home she noticed that the ____ was gone.", "At home he noticed that the ____ was gone."),
}
ATTENTION: dict[str, AttentionName] = {
    "encoder_decoder": "cross",
    "decoder_only": "decoder",
    "encoder_only": "encoder",
}
N_GPT2_TOKENS = 24  # of the prompt; as many are written


def run() -> list[Row]:
    """Time the edits in turn."""
    contestants = {name: _edit(*tc.load(f"checkpoints/{name}"), *texts) for name, texts in TEXTS.items()}
    contestants |= {"en-fr, 3 effects of a sweep": _sweep(), "en-fr, all heads by attribution": _attribution()}
    with imported_gpt2() as folder:
        model, tokenizer = tc.load(folder / "gpt2-small")
    texts = [" ".join(str(first + 37 * i) for i in range(N_GPT2_TOKENS)) for first in (464, 11)]
    gpt2 = {
        "GPT-2 small, 24 tokens + 24, the same output": _edit(model, tokenizer, *texts),
        "GPT-2 small, 24 tokens + 24, another output": _edit(model, tokenizer, *texts, is_large=True),
    }
    times = interleaved(contestants, rounds=15) | interleaved(gpt2, rounds=5, warm_up=1)
    return [
        Row(name=name, median_ms=sorted(values)[len(values) // 2], slowest_ms=percentile_95(values))
        for name, values in times.items()
    ]


def _edit(
    model: tc.Transformer, tokenizer: tc.Tokenizer, text: str, other: str, *, is_large: bool = False
) -> Callable[[], object]:
    """An edit of a head and a knocked-out column, each time as a page asks; a large one also sets a layer to 0."""
    name = ATTENTION[model.config.architecture]
    stack = Stack(
        entries=(
            Ablation(component=Component(kind="head", attention=name, layer=0, heads=(1,)), texts=(other,)),
            CellEdit(attention=name, layer=1, operation="knock_out", heads=(0,), cells=((None, 2),)),
        )
    )
    if is_large:
        layer = Component(kind="resid_mid", attention=name, layer=0)
        stack = Stack(entries=(*stack.entries, Ablation(component=layer, method="zero")))
    base = read_base(model, tokenizer, text)
    sources = SourceRuns(model, tokenizer)

    def edited() -> str:
        result = consequences(model, tokenizer, base, stack, sources=sources)
        return free_output(model, tokenizer, base, result, sources=sources)

    return edited


def _sweep() -> Callable[[], object]:
    model, tokenizer = tc.load("checkpoints/en-fr")
    text, other = TEXTS["en-fr"]
    base, sources = read_base(model, tokenizer, text), SourceRuns(model, tokenizer)
    components = [*sweep_components(model.config, base)][:3]
    template = Patch(component=components[0], text=other, direction="noising", continuation="same")
    return lambda: [*sweep(model, tokenizer, base, components, template=template, sources=sources)]


def _attribution() -> Callable[[], object]:
    model, tokenizer = tc.load("checkpoints/en-fr")
    text, other = TEXTS["en-fr"]
    base, sources = read_base(model, tokenizer, text), SourceRuns(model, tokenizer)
    components = [*sweep_components(model.config, base)]
    template = Patch(component=components[0], text=other, direction="noising", continuation="same")
    return lambda: attribution(model, tokenizer, base, components, template=template, sources=sources)
