"""The heads of a program, matched with the heads of a model that was trained on the same task."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]
from torch import Tensor

from headlight.analysis.heads.likeness import pattern_distances
from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.programs.roles import Role, roles
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.corpus import Corpus, Labelled
from transformer_core.corpora.text_batches import batch_of
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import replace
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.evaluate import evaluate

N_COMPARED = 64  # held-out inputs
N_UNTRAINED = 20  # models with different initial weights
_FIRST_SEED = 1_000  # seed of the first of them; trainings usually have small seeds


@dataclass(frozen=True, kw_only=True)
class MatchedHead:
    """A head of a program beside the trained head that attends most like it; heads as (layer, head)."""

    role: Role
    program_head: tuple[int, int]
    trained_head: tuple[int, int]
    distance: float  # mean Jensen-Shannon distance of the two heads' rows, base 2, in [0, 1]
    untrained: tuple[float, ...]  # the same for the head matched in each untrained model
    effect: float  # accuracy that the trained model loses when its head writes its mean output, in [-1, 1]

    @property
    def by_chance(self) -> float:
        """The mean distance of the heads that are matched in untrained models."""
        return float(np.mean(self.untrained))

    @property
    def is_convincing(self) -> bool:
        """Whether the trained head is nearer than in every untrained model, and needed: ablation costs 1 % accuracy."""
        return self.distance < min(self.untrained) and self.effect >= LEAST_EFFECT


LEAST_EFFECT = 0.01
LEAST_ACCURACY = 0.99  # of a model that has learned its task


@dataclass(frozen=True, kw_only=True)
class ProgramMatch:
    """A trained model compared with the compiled program whose task it learned."""

    heads: tuple[MatchedHead, ...]  # in the order of the program's heads
    accuracy: float  # of the trained model: share of right labels on the inputs that are compared, in [0, 1]
    n_inputs: int

    @property
    def is_learned(self) -> bool:
        """Whether the trained model has learned the task: at least 99 % of its outputs are correct."""
        return self.accuracy >= LEAST_ACCURACY


def match_program(
    compiled: Transformer,
    trained: Transformer,
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    n_inputs: int = N_COMPARED,
    n_untrained: int = N_UNTRAINED,
) -> ProgramMatch:
    """Match each head of a program with a different trained head so that the total pattern distance is lowest.

    Only the rows of the program's input tokens are compared: no line says what <bos> and <eos> attend to. Untrained
    models of the same sizes are matched in the same way: a distance that they also reach is no evidence of learning.

    Args:
        compiled: a compiled program.
        trained: a model with the same tokens and kind of stack, in evaluation mode.
        tokenizer: of both.
        corpus: of the task.
        n_inputs: held-out inputs that are compared.
        n_untrained: untrained models, each with another seed.

    Raises:
        ConfigError: the two do not read the same tokens, or the trained model has fewer heads than the program.
        ProgramError: the first model was not compiled.

    Source: Endres and Schindelin 2003 for the distance; Kuhn 1955 for the assignment.
    """
    known = roles(compiled)
    config = trained.config
    (attention,) = attentions_of(compiled.config).values()
    if (config.architecture, config.vocab_size) != (compiled.config.architecture, compiled.config.vocab_size):
        raise ConfigError("the trained model does not read the tokens of the program; train one on the program’s task")
    if attention.n_layers(config) * config.n_heads < len(known):
        raise ConfigError(
            "the program has {n} heads, but the trained model has only {there}; train one with as many",
            n=len(known),
            there=attention.n_layers(config) * config.n_heads,
        )
    items: Sequence[Labelled] = corpus.held_out[:n_inputs]
    batch = batch_of(items, tokenizer, config.architecture)
    wanted = head_rows(compiled, batch)[[layer * compiled.config.n_heads + head for layer, head in known]]
    partners, distances = _nearest(wanted, head_rows(trained, batch))
    by_chance = [
        _nearest(wanted, head_rows(build(config, seed=_FIRST_SEED + i).eval(), batch))[1] for i in range(n_untrained)
    ]
    accuracy = evaluate(trained, tokenizer, corpus, items)["accuracy"]
    means = _mean_outputs(trained, attention, batch)
    heads = []
    for i, (place, role) in enumerate(known.items()):
        layer, head = divmod(int(partners[i]), config.n_heads)
        with intervene(trained, {attention.site(layer, "hook_z"): replace(means[layer], heads=[head])}):
            ablated = evaluate(trained, tokenizer, corpus, items)["accuracy"]
        heads.append(
            MatchedHead(
                role=role,
                program_head=place,
                trained_head=(layer, head),
                distance=float(distances[i]),
                untrained=tuple(float(chance[i]) for chance in by_chance),
                effect=accuracy - ablated,
            )
        )
    return ProgramMatch(heads=tuple(heads), accuracy=accuracy, n_inputs=len(items))


@torch.inference_mode()
def head_rows(model: Transformer, batch: Batch) -> Float[np.ndarray, "head row key"]:
    """Return the attention of all heads, layer by layer, from each token that has a label, in all texts of a batch.

    Args:
        model: a decoder or an encoder, in evaluation mode.
        batch: texts with labels; keys are those of the longest, and 0 after the end of a text.
    """
    with capture(model, "*.hook_pattern") as acts:
        model(*batch.inputs)
    patterns = acts.stack("pattern").permute(0, 2, 1, 3, 4)  # layer head batch query key
    return patterns[:, :, batch.targets != IGNORED].flatten(0, 1).numpy()


def _nearest(
    wanted: Float[np.ndarray, "role row key"], there: Float[np.ndarray, "head row key"]
) -> tuple[np.ndarray, Float[np.ndarray, " role"]]:
    """Return a different head for each role, with the smallest sum of distances, and the distances."""
    distances = pattern_distances(wanted, there)
    places, heads = linear_sum_assignment(distances)
    return heads, distances[places, heads]


@torch.inference_mode()
def _mean_outputs(model: Transformer, attention: Attention, batch: Batch) -> list[Float[Tensor, "1 head 1 d_head"]]:
    """Return each head's mean output over the tokens that have a label, by layer, for mean ablation."""
    layers = range(attention.n_layers(model.config))
    with capture(model, "*.hook_z") as acts:
        model(*batch.inputs)
    counts = batch.targets != IGNORED
    z = [acts[attention.site(layer, "hook_z")].transpose(1, 2)[counts] for layer in layers]  # row head d_head
    return [rows.mean(dim=0)[None, :, None] for rows in z]
