"""An experiment as Python: lines that load the model, apply the stack, and print the same numbers."""

from transformer_core.analysis.interventions.records import Stack


def as_code(
    stack: Stack,
    model_path: str,
    text: str,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> str:
    """Return Python that prints what `consequences` returns: the outputs, and each output token before and after.

    Args:
        stack: what is changed.
        model_path: as `tc.load` takes it.
        text: as for `read_base`.
        target: as for `read_base`.
        max_tokens: as for `read_base`.
        max_new_tokens: as for `read_base`.

    Returns:
        lines for a script or a notebook; numbers are printed with six digits after the point.
    """
    room = {"target": (target, None), "max_tokens": (max_tokens, 64), "max_new_tokens": (max_new_tokens, 24)}
    options = "".join(f", {name}={value!r}" for name, (value, usual) in room.items() if value != usual)
    records = sorted({*(type(entry).__name__ for entry in stack.entries), "Stack"})
    if any(hasattr(entry, "component") for entry in stack.entries):
        records = sorted([*records, "Component"])
    entries = "".join(f"\n        {entry!r}," for entry in stack.entries)
    written = f"Stack(\n    entries=({entries}\n    )\n)" if stack.entries else "Stack()"
    return f"""import transformer_core as tc
from transformer_core.analysis.interventions import {", ".join(records)}, consequences, read_base

model, tokenizer = tc.load({model_path!r})
base = read_base(model, tokenizer, {text!r}{options})
stack = {written}
result = consequences(model, tokenizer, base, stack)
print("before:", repr(result.output_before))
print("after: ", repr(result.output))
print("token, log-probability before and after, logit difference before and after, KL (nats)")
effect, (logits_before, logits_after) = result.effect, result.logit_differences
for i, label in enumerate(result.labels):
    numbers = effect.before[i], effect.after[i], logits_before[i], logits_after[i], effect.kl[i]
    print(repr(label), *(f"{{number:.6f}}" for number in numbers))
"""
