"""What a model writes with a stack is what a plain loop writes, which reads everything again at each step."""

from dataclasses import replace
from functools import cache
from math import sin
from typing import Any

import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.base import Base, read_base
from headlight.analysis.interventions.comparison import consequences, free_output
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import (
    Ablation,
    CellEdit,
    Component,
    InterventionStack,
    Patch,
    StackEntry,
    TokenSwap,
)
from headlight.analysis.trace.traced_forward import output_text
from tests.headlight.analysis.interventions.small_models import model_of, text_of
from tests.model.building import VARIATIONS
from transformer_core.text.ids import IdTokenizer

WRITING = [name for name in VARIATIONS if not name.startswith("encoder")]
ROOM: dict[str, Any] = {"max_tokens": 12, "max_new_tokens": 5}
WAVE = tuple(3 * sin(5 * i) for i in range(48))  # a state that says something else than the model
ALIKE, LONGER = text_of(7, seed=3), text_of(9, seed=5)


class Writing:
    """A random model, what it writes on its own, and source runs with the same room."""

    def __init__(self, variation: str, eos_id: int | None = None) -> None:
        model, _ = model_of(variation)
        if eos_id is not None:
            config = replace(model.config, eos_id=eos_id)
            state, model = model.state_dict(), tc.build(config).eval()
            model.load_state_dict(state)
        self.model, self.tokenizer = model, IdTokenizer.of(model.config)
        self.base: Base = read_base(model, self.tokenizer, text_of(7), **ROOM)

    @property
    def n_given(self) -> int:
        """Tokens of the decoder's input that were not written."""
        return 1 if self.model.config.has_encoder else self.base.run.n_given

    def output(self, stack: InterventionStack) -> str:
        actual = consequences(self.model, self.tokenizer, self.base, stack)
        return free_output(self.model, self.tokenizer, self.base, actual)

    @torch.no_grad()
    def output_by_hand(self, stack: InterventionStack) -> tuple[str, int | None, bool]:
        """The same by a plain loop, the first place with another token (None: nowhere), and whether it ends."""
        model, config, base = self.model, self.model.config, self.base
        ready = prepare(model, self.tokenizer, stack, run=base.run, sources=base.sources)
        given = base.run.inputs[0] if config.has_encoder else base.run.inputs[0][: self.n_given]
        assert config.bos_id is not None or not config.has_encoder
        tokens, written = [config.bos_id or 0] if config.has_encoder else [*given], list[int]()
        room = ROOM["max_tokens"] - 1 if config.has_encoder else ROOM["max_new_tokens"]
        while len(written) < room and config.eos_id not in written:
            inputs = [torch.tensor([each]) for each in ([given] if config.has_encoder else []) + [tokens + written]]
            with ready.active(is_checked=False):
                logits = model(*inputs)[0, -1].tolist()
            allowed = [token for token in range(config.vocab_size) if token != config.suppressed_token_id]
            written.append(max(allowed, key=lambda token: logits[token]))
        places = [i for i, (a, b) in enumerate(zip(base.tokens, written, strict=False)) if a != b]
        return (
            output_text(model, self.tokenizer, given, written),
            min(places, default=None),
            written[-1] == config.eos_id,
        )


writing = cache(Writing)


def entries(writing: Writing) -> list[StackEntry]:
    """Edits of every kind, in what was given and in what is written."""
    config, first, n_written = writing.model.config, writing.n_given, len(writing.base.tokens)
    last: Any = "cross" if config.has_encoder else "decoder"
    head = Component(kind="head", attention=last, layer=1)
    value = Component(kind="value", attention="decoder", layer=0, positions=(first + 1,))
    middle = Component(kind="feed_forward" if config.d_ff else "attention", attention="decoder", layer=0)
    resid_post = Component(kind="resid_post", attention="decoder", layer=1)
    pattern = Component(kind="pattern", attention="decoder", layer=0)
    return [
        Ablation(component=head, method="zero"),
        Ablation(component=replace(head, positions=(first + 2, first + 3)), texts=(LONGER,), method="mean"),
        Ablation(component=replace(middle, positions=(first + 4,)), texts=(LONGER,), seed=3),
        *(
            Ablation(component=replace(resid_post, positions=(first + n,)), method="constant", constant=WAVE)
            for n in (0, n_written // 2, n_written - 2, n_written - 1)
        ),
        Patch(component=value, text=LONGER, direction="noising"),
        Patch(component=pattern, text=ALIKE, direction="noising", continuation="same"),
        TokenSwap(side="source" if config.has_encoder else "target", positions=(2,), tokens=(9,)),
        TokenSwap(side="target", positions=(first + 1, first + 3), tokens=(6, 9)),
        CellEdit(attention="decoder", layer=1, operation="knock_out", cells=((None, first + 2),)),
        CellEdit(attention="decoder", layer=0, operation="set", number=0.9, cells=((None, first + 3),)),
        CellEdit(attention=last, layer=0, operation="scale", number=9, cells=((first + 4, 1),), renormalize=True),
        CellEdit(attention="decoder", layer=1, operation="uniform", heads=(0, 1)),
    ]


@pytest.mark.parametrize("variation", WRITING)
def test_it_is_what_a_plain_loop_writes(variation: str):
    """A third of the edits with each variation, turn about, and several together."""
    result, places = writing(variation), set[int | None]()
    singly = [InterventionStack(entries=(entry,)) for entry in entries(result)[WRITING.index(variation) % 3 :: 3]]
    for stack in [*singly, InterventionStack(entries=(*entries(result)[1:3], *entries(result)[8:]))]:
        output, place, _ = result.output_by_hand(stack)
        assert result.output(stack) == output, stack
        places.add(place)
    assert len(places) > 1  # some change nothing that is written, others something early or late


@pytest.mark.parametrize(("variation", "of_wave"), [("the paper's", 11), ("decoder", 30)])
def test_an_output_may_end_before_and_after(variation: str, of_wave: int):
    """Each token that is written is once the one that ends an output, so nothing may come after the changed token."""
    ends = set()
    for eos_id in {*writing(variation).base.tokens, of_wave}:
        result = Writing(variation, eos_id)
        middle = result.n_given - 1 + len(result.base.tokens) // 2
        here = Component(kind="resid_post", attention="decoder", layer=1, positions=(middle,))
        changes = Ablation(component=here, method="constant", constant=WAVE)
        for entry in (entries(result)[0], entries(result)[-1], changes):
            stack = InterventionStack(entries=(entry,))
            output, place, is_complete = result.output_by_hand(stack)
            assert result.output(stack) == output, (eos_id, stack)
            ends.add((result.base.run.is_complete, is_complete, place is None))
    assert {(True, True, True), (True, False, False), (False, True, False)} <= ends
