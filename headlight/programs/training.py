"""How a model is trained on the task of a program: with as many layers as the program needs, in about a minute."""

from headlight.programs.layout import layout_of
from headlight.programs.program import Program
from headlight.programs.value_sets import value_sets
from transformer_core.training.run.request import Settings

STEPS = 1_200
FEWEST_HEADS = 4  # of a layer; with one, two of four seeds did not learn to reverse in as many steps


def program_training(program: Program, *, steps: int = STEPS, seed: int = 0) -> tuple[str, Settings]:
    """Return the preset, and what differs from it: sizes of the compiled model, and numbers that learn fast there.

    A layer has `FEWEST_HEADS` heads at least. Positions are rotary, of a decoder too: with learned ones, counting takes
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
    """Return the arguments of `python -m transformer_core train` for such a training, but for the run's folder.

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
