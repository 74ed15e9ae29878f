"""Compiled models as checkpoint folders: the card holds the program, so that each head's line is known again."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headlight.programs import Program, roles
from headlight.programs.compiler import compiled, recompiled
from transformer_core.checkpoints.checkpoint import CARD, read_card, save
from transformer_core.checkpoints.folder import write_json
from transformer_core.checkpoints.load import load
from transformer_core.errors import CheckpointError, HeadlightError, Message, ProgramError, mark
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

PROGRAM = "program"  # in the card
_NO_PROGRAM = Message("the card of {folder} does not contain the program that its model was compiled from")
DESCRIPTION = mark("Compiled from a program, so each head’s role is known.")


def save_compiled(
    folder: str | os.PathLike[str], model: Transformer, tokenizer: Tokenizer, *, title: str, examples: Sequence[str]
) -> None:
    """Write a compiled model as a checkpoint folder, which the app opens like any other.

    Args:
        folder: the folder to write.
        model: a model compiled from a program.
        tokenizer: of the model.
        title: displayed title of the model.
        examples: texts to start from.

    Raises:
        ProgramError: the model was not compiled.
        CheckpointError: the folder holds something other than a checkpoint.
        OSError: the folder cannot be written.
    """
    origin = compiled(model)
    program, stack = origin.program, "decoder" if origin.program.is_causal else "encoder"
    heads = [
        {"attention": stack, "layer": layer, "head": head, "does": f"L{layer}.H{head}: {role.source}"}
        for (layer, head), role in roles(model).items()
    ]
    card = {
        "name": Path(folder).name,
        "kind": model.config.architecture.replace("_", "-"),
        "title": title,
        "description": DESCRIPTION,
        "examples": [*examples],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "heads": heads,
        PROGRAM: _written(program) | {"vocab": [*origin.vocab], "max_len": origin.max_len},
    }
    save(folder, model, tokenizer, card)


def load_compiled(folder: str | os.PathLike[str]) -> tuple[Transformer, Tokenizer]:
    """Load a compiled model whose heads have their roles again.

    Raises:
        CheckpointError: the folder is missing or damaged, or its card holds no program that fits its weights.
    """
    model, tokenizer = load(folder)
    try:
        return recompiled(model, read_program(folder)), tokenizer
    except ProgramError:
        raise CheckpointError(_NO_PROGRAM, folder=Path(folder)) from None


def read_program(folder: str | os.PathLike[str]) -> Program:
    """Return the program in the card of a folder; the folder needs no other file.

    Raises:
        CheckpointError: there is no card, or it holds no program.
    """
    about = read_card(folder).get(PROGRAM)
    try:
        if not isinstance(about, Mapping):
            raise TypeError
        return _program(about)
    except (HeadlightError, TypeError, KeyError, ValueError):
        raise CheckpointError(_NO_PROGRAM, folder=Path(folder)) from None


def write_program(folder: str | os.PathLike[str], program: Program) -> None:
    """Write a card with only a program, so that its task can be used as a corpus; `read_program` reads it.

    Raises:
        OSError: the folder cannot be written.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_json(Path(folder) / CARD, {PROGRAM: _written(program)})


def _written(program: Program) -> dict[str, Any]:
    return {
        "source": program.source,
        "vocab": [*program.vocab],
        "max_len": program.max_len,
        "is_causal": program.is_causal,
    }


def _program(about: Mapping[str, Any]) -> Program:
    vocab, max_len, is_causal = about["vocab"], about["max_len"], about["is_causal"]
    if not all(isinstance(token, str) for token in vocab) or type(max_len) is not int or type(is_causal) is not bool:
        raise TypeError
    return Program(source=str(about["source"]), vocab=tuple(vocab), max_len=max_len, is_causal=is_causal)
