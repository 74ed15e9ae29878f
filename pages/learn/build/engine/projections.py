"""Lines 1 to 3: queries, keys and values of one head."""

from collections.abc import Iterator

from pages.learn.build.engine.step import (
    NO_BIAS,
    NOT_MEMORY,
    NOT_X,
    OTHERS,
    ROTATED,
    UNROTATED,
    Mistake,
    Step,
    Variant,
    mistakes_of,
)
from transformer_core.errors import Message, mark


def projections(variant: Variant) -> Iterator[Step]:
    """Yield the steps 1 to 3: queries, keys and values."""
    others = {"Q": mark("queries"), "K": mark("keys"), "V": mark("values")}
    texts = {
        "Q": (
            mark("Queries"),
            mark("Project each token’s vector in x to its query: multiply by W_Q and add b_Q. Then apply rotate(…).")
            if variant.is_rotated
            else mark("Project each token’s vector in x to its query: multiply by W_Q and add b_Q."),
        ),
        "K": (
            mark("Keys"),
            mark("Keys come from memory, the encoder’s output: multiply it by W_K and add b_K.")
            if variant.is_cross
            else mark("Project x to keys in the same way, with W_K and b_K; rotate them, too.")
            if variant.is_rotated
            else mark("Project x to keys in the same way, with W_K and b_K."),
        ),
        "V": (
            mark("Values"),
            mark("Values come from memory, too: multiply it by W_V and add b_V.")
            if variant.is_cross
            else mark("Project x to values, with W_V and b_V. Values are not rotated.")
            if variant.is_rotated
            else mark("Project x to values, with W_V and b_V."),
        ),
    }
    for letter, (title, task) in texts.items():
        source = "memory" if variant.is_cross and letter != "Q" else "x"
        other_source = "x" if source == "memory" else "memory" if variant.is_cross else ""
        is_rotated = variant.is_rotated and letter != "V"
        other, rotation = NOT_MEMORY if letter == "Q" else NOT_X, UNROTATED if is_rotated else ROTATED
        name, weight, bias = letter.lower(), f"W_{letter}", f"b_{letter}"

        def line(letter: str = letter, source: str = source, *, is_rotated: bool = is_rotated, end: str = "") -> str:
            product = f"{source} @ W_{letter}{end or f' + b_{letter}'}"
            return f"rotate({product})" if is_rotated else product

        swapped = [one for one in others if one != letter]
        yield Step(
            name=name,
            title=title,
            task=task,
            hint=mark("A matrix product is written @. It sums over the columns on the left and the rows on the right."),
            line=line(),
            shapes=f"{{{source}}} @ {{{weight}}} + {{{bias}}} → {{{name}}}",
            axes=("query" if letter == "Q" else "key", "d_head"),
            mistakes=(
                Mistake(line(end=" + 0"), Message(NO_BIAS, bias=bias)),
                Mistake(line(end=f" - {bias}"), Message(mark("The bias is subtracted: add it."))),
                *(
                    Mistake(
                        line(one, is_rotated=rotated),
                        Message(OTHERS, others=Message(others[one]), weight=weight, bias=bias),
                    )
                    for one in swapped
                    for rotated in {is_rotated, False}
                ),
                *mistakes_of(
                    (line(is_rotated=not is_rotated) if variant.is_rotated else "", rotation),
                    *((line(source=other_source, end=end), other) for end in (("", " + 0") if other_source else ())),
                ),
            ),
        )
