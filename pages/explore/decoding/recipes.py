"""The common inputs of all parts of the Decoding page, as code that is both run and shown."""

from dataclasses import dataclass
from typing import Any

from pages.explore.decoding import view_fields
from pages.shared import cache
from pages.shared.recipe import Expression, call, each, literal, named, through, value_of
from pages.shared.sources import Source
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.errors import mark
from transformer_core.text.interface import Given

GENERATED, FILLED = mark("generated texts"), mark("filled-in texts")
MOST_GIVEN = 512  # tokens per text


def given(source: Source, config: ModelConfig, text: Given) -> Expression:
    """Return the tokenized text, cut to the tokens that fit, as code."""
    from headlight.analysis.trace.traced_forward import EncodedInput

    room = max(1, config.max_seq_len - 1) if config.architecture == "decoder_only" else config.max_seq_len
    _, tokenizer = source.recipe()
    encoded = literal(EncodedInput).of(tokenizer, text, config.architecture, min(MOST_GIVEN, room))
    return named("given", cache.kept(mark("tokenized texts"), encoded))


def tokens_of(steps: Any) -> Expression:
    """Return the token IDs of steps, as code."""
    return each("step", steps, lambda step: step.token)


def session_of(tree: Expression, sampling: Sampling = GREEDY) -> Expression:
    """Return a session at the root of a tree, as code."""
    from transformer_core.decoding.session import DecodingSession

    return literal(DecodingSession).of(tree, **({} if sampling == GREEDY else {"sampling": sampling}))


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodingRecipe:
    """A text that is being written, as code."""

    model: Expression
    tokenizer: Expression
    given: Expression
    tree: Expression  # all its continuations so far
    session: Expression
    branches: Expression  # the tokens written on each branch of the view
    branch: Expression  # on the selected one

    @classmethod
    def of(cls, source: Source, config: ModelConfig, text: str, length: int) -> "DecodingRecipe":
        """Return the branches of the view, of `length` tokens unless they end earlier or have more fixed tokens."""
        from transformer_core.decoding.inputs import tensor_of
        from transformer_core.decoding.tree import DecodingTree

        model, tokenizer = source.recipe()
        of_text = given(source, config, text)
        begun = call(DecodingTree, model, call(tensor_of, of_text.ids, model))
        tree = named("tree", cache.kept(GENERATED, begun))
        session = named("session", session_of(tree, view_fields.sampling()))
        written = [
            call(
                tuple,
                session.follow(
                    {0: branch.tokens} if branch.tokens else {}, max_new_tokens=max(length, len(branch.tokens))
                ),
            )
            for branch in view_fields.BRANCHES.value
        ]
        branches, here = named("branches", literal(written)), view_fields.BRANCH.value
        return cls(
            model=model,
            tokenizer=tokenizer,
            given=of_text,
            tree=tree,
            session=session,
            branches=branches,
            branch=named("branch", through(written[here], lambda _: value_of(branches)[here])),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BlanksRecipe:
    """A text with blanks, as code."""

    tokenizer: Expression
    given: Expression
    tree: Expression  # all fillings so far

    @classmethod
    def of(cls, source: Source, config: ModelConfig, text: Given) -> "BlanksRecipe":
        """Return the inputs of a masked model for a text with blanks."""
        from transformer_core.decoding.filling import FillingTree
        from transformer_core.decoding.inputs import tensor_of

        model, tokenizer = source.recipe()
        of_text = given(source, config, text)
        tensors = [call(tensor_of, of_text.ids, model)]
        if not isinstance(text, str):
            tensors.append(call(tensor_of, of_text.segments, model))
        begun = call(FillingTree, model, *tensors, mask_id=tokenizer.mask_id)
        tree = named("tree", cache.kept(FILLED, begun))
        return cls(tokenizer=tokenizer, given=of_text, tree=tree)
