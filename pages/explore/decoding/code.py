"""The lines of Python that give what the page Decoding shows: for a notebook, and for whoever takes a figure away."""

from dataclasses import fields
from typing import TYPE_CHECKING

from pages.explore.decoding.data import DecodingData
from pages.shared import code
from transformer_core.decoding.settings import GREEDY, Sampling

if TYPE_CHECKING:
    from transformer_core.decoding.looking import Kind

SAID = """
for candidate in at.prediction.candidates(12):
    print(tokenizer.target.labels([candidate.token])[0], candidate.probability)
print("entropy", at.prediction.entropy, "nats")
"""
ENDED = """
print(tokenizer.target.decode([step.token for step in at.written()]), at.total_log_prob, "nats")
"""
LOOKED = """
from transformer_core.decoding.looking import Aim, {function}

values = {function}({of}, {kind!r}, {aim!r})
print(values)  # {axes}
"""


def code_of(data: DecodingData) -> str:
    """Return the lines that lead the model to this step, and print what it says comes next."""
    return opening(data) + (ENDED if data.prediction is None else SAID)


def opening(data: DecodingData) -> str:
    """Return the lines that define `session` and `at`, the step that is looked at."""
    view, sampling = data.view, data.session.sampling
    needs = [] if sampling == GREEDY else ["from transformer_core.decoding.settings import Sampling"]
    lines = code.loading(data.card, view, data.left_out, *needs)
    lines.append(f"text = torch.tensor([ids]{code.on_device(view)})")
    chosen = "" if sampling == GREEDY else f", sampling={_written(sampling)}"
    lines.append(f"session = tc.DecodingSession(model, text{chosen})")
    tokens = [step.token for step in data.written]
    lines.append(f"at = session.fork(*{tokens})  # what was written" if tokens else "at = session.at")
    if not data.tree.has_ended(data.at):
        lines.append("session.tree.read(at)")
    return "\n".join(lines) + "\n"


def looked(data: DecodingData, kind: "Kind", *, whole: bool = False) -> str:
    """Return the lines that give where was looked: at this step, or `whole`: at every step so far."""
    told = (
        {"function": "written_weights", "of": "at.written()", "axes": "[tgt, key]"}
        if whole
        else {"function": "weights", "of": "at.prediction", "axes": "[key]"}
    )
    return opening(data) + LOOKED.format(kind=kind, aim=data.aim, **told)


def _written(sampling: Sampling) -> str:
    """Return a sampling with what is not as usual."""
    usual = Sampling()
    changed = [
        f"{field.name}={getattr(sampling, field.name)!r}"
        for field in fields(sampling)
        if getattr(sampling, field.name) != getattr(usual, field.name)
    ]
    return f"Sampling({', '.join(changed)})"
