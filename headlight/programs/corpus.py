"""The task of a program as a corpus: random inputs, with the output at each token; and how a model is trained on it."""

import json
import random
from pathlib import Path

from headlight.programs.checkpoint import read_program
from headlight.programs.compiler import words_of
from headlight.programs.examples import EXAMPLES, inputs_of
from headlight.programs.interpreter import run, value_sets
from headlight.programs.layout import layout_of
from headlight.programs.program import Program
from transformer_core.corpora.corpus import Corpus, Labelled
from transformer_core.corpora.source_code import fingerprint_of_code
from transformer_core.errors import CheckpointError, CorpusError, Message
from transformer_core.training.run.request import Settings

PREFIX = "program:"  # of the names of these corpora
N_TRAIN, N_HELD_OUT = 12_000, 500  # inputs
_DRAWS = 3  # maximum draws per wanted input: a short vocabulary has few distinct inputs
_HELD_OUT_SHARE = 0.2  # at most, of all inputs
_N_EXAMPLES = 4
_CODE = fingerprint_of_code(Path(__file__).parent)
STEPS = 1_200
FEWEST_HEADS = 4  # per layer; with one, two of four seeds did not learn to reverse in this many steps


def program_named(name: str) -> Program:
    """Return the program of a corpus.

    Args:
        name: "program:reverse", with the name of an example; or "program:checkpoints/mine", with the folder of a
            compiled model.

    Raises:
        CorpusError: there is neither an example nor a folder with a program of that name.
    """
    place = name.removeprefix(PREFIX)
    if place in EXAMPLES:
        return EXAMPLES[place]
    try:
        return read_program(place)
    except CheckpointError as error:
        raise CorpusError(
            "“{place}” is neither an example program nor the folder of a compiled one; the examples are {names}",
            place=place,
            names=", ".join(EXAMPLES),
        ) from error


def made_from(name: str) -> list[str]:
    """Return everything that the corpus of a program depends on.

    Raises:
        CorpusError: there is no such program.
    """
    program = program_named(name)
    return [_CODE, json.dumps([program.source, program.vocab, program.max_len, program.is_causal])]


def program_corpus(name: str, *, seed: int = 0) -> Corpus:
    """Return the task of a program: distinct inputs on which it is defined, labelled with its output at each token.

    The tokens are those of the compiled model.

    Args:
        name: as for `program_named`.
        seed: of the inputs.

    Raises:
        CorpusError: there is no such program.
        ProgramError: it is defined on too few inputs, or has too many values.
    """
    program = program_named(name)
    words, draw, rng = words_of(program), inputs_of(program), random.Random(seed)
    drawn: dict[tuple[str, ...], None] = {}
    for _ in range(_DRAWS * (N_TRAIN + N_HELD_OUT)):
        drawn[tuple(draw(rng))] = None
        if len(drawn) == N_TRAIN + N_HELD_OUT:
            break
    items = [labelled(program, tokens) for tokens in rng.sample([*drawn], len(drawn))]
    n_held_out = min(N_HELD_OUT, int(_HELD_OUT_SHARE * len(items)))
    longest = max(1, 2 * program.max_len // 3)  # leaves room on a page for the model's continuation
    short = [item for item in items[:n_held_out] if len(item.labels) <= longest]
    short.sort(key=lambda item: -len(item.labels))
    title = name.removeprefix(PREFIX).rstrip("/").rpartition("/")[2]
    return Corpus(
        name=name,
        title=title.replace("_", " ").capitalize(),
        description=Message("Random inputs of a program; at each token, its output is to be predicted."),
        train=tuple(items[n_held_out:]),
        held_out=tuple(items[:n_held_out]),
        examples=tuple(item.text for item in short[:_N_EXAMPLES]),
        tokenizer_kind="word",
        words=words,
    )


def labelled(program: Program, tokens: tuple[str, ...]) -> Labelled:
    """Return an input with the program's output at each token.

    Raises:
        ProgramError: the program is not defined on it.
    """
    return Labelled(" ".join(tokens), labels=tuple(map(str, run(program, tokens))))


def program_training(program: Program, *, steps: int = STEPS, seed: int = 0) -> tuple[str, Settings]:
    """Return the preset and its overrides: the sizes of the compiled model, and hyperparameters that learn fast there.

    A layer has `FEWEST_HEADS` heads at least. Positions are rotary, in a decoder too: with learned ones, counting takes
    several times as many steps.

    Args:
        program: whose task is learned.
        steps: optimizer steps.
        seed: of the first weights and the order of the data.

    Raises:
        ProgramError: the program has too many values.
    """
    layout = layout_of(program, value_sets(program, program.vocab, program.max_len))
    stack = "decoder" if program.is_causal else "encoder"
    model = {
        f"n_{stack}_layers": layout.n_layers,
        "n_heads": max(FEWEST_HEADS, *map(len, layout.heads)),
        "d_head": 16,
        "d_model": 64,
        "d_ff": 256,
        "max_seq_len": program.max_len + 2,
        "positions": "rotary_halves",
    }
    training = {
        "steps": steps,
        "seed": seed,
        "batch_size": 64,
        "warmup_steps": 60,
        "learning_rate_factor": 0.1,
    }
    return f"tiny-{stack}", Settings(model=model, training=training)


def train_arguments(corpus: str, program: Program, *, steps: int = STEPS, seed: int = 0) -> list[str]:
    """Return the arguments of `python -m transformer_core train` for such a training, except the run's folder.

    Args:
        corpus: of the program's task, as `load_corpus` takes it.
        program: the same.
        steps: as for `program_training`.
        seed: as for `program_training`.

    Raises:
        ProgramError: the program has too many values.
    """
    preset, settings = program_training(program, steps=steps, seed=seed)
    values = {**settings.model, **settings.training}
    return [
        *("--corpus", corpus, "--preset", preset),
        *(word for name, value in values.items() for word in ("--set", f"{name}={value}")),
    ]
