"""Facts for the card of a trained model: the habits of its heads, the effect of a guided one, the usual outputs."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.analysis.heads.measures import HeadScore
from headlight.analysis.heads.scores import known_heads, score_heads
from headlight.analysis.trace.traced_forward import LEAST_ROOM, EncodedInput
from headlight.figures.head_words import sentence
from transformer_core.checkpoints.checkpoint import CARD, read_card
from transformer_core.checkpoints.folder import write_json
from transformer_core.checkpoints.load import load
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.decoding.greedy import greedy_decode, until_end
from transformer_core.errors import HeadlightError, NotFiniteError, RunError
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import by_length, free_outputs
from transformer_core.training.run.begin import corpus_of
from transformer_core.training.run.directory import RunDirectory

N_SCORED = 64  # held-out items on which the heads are measured
N_USUAL = 500  # held-out pairs that the usual output is measured on
UNUSUAL = 0.01  # share of them whose output is less probable than the limit in the card


def describe_heads(run: Path, folder: Path, *, n_scored: int = N_SCORED, n_usual: int = N_USUAL) -> None:
    """Measure what the heads of a kept model do, and write it into its card, which is replaced in one piece.

    Args:
        run: the folder of the run that it was kept from.
        folder: the model's.
        n_scored: held-out items of the run's corpus on which the heads are measured.
        n_usual: held-out pairs on which it is measured how probable the model finds what it writes.

    Raises:
        RunError: the heads could not be measured; the message says why. The model is unchanged.
    """
    try:
        card = read_card(folder)
        model, tokenizer = load(folder)
        request = RunDirectory.open(run).request
        corpus = corpus_of(request)
        heads = [_as_json(score) for score in known_heads(score_heads(model, tokenizer, corpus.held_out[:n_scored]))]
        guidance = guidance_facts(model, tokenizer, corpus, request.training)
        usual = usual_output(model, tokenizer, corpus.held_out[:n_usual]) if corpus.is_pairs else None
        results = {"heads": heads, "guidance": guidance, "usual": usual}
        described = {name: value for name, value in results.items() if value}
        if described and read_card(folder) == card:  # otherwise another model has replaced it meanwhile
            write_json(folder / CARD, card | described)
    except Exception as error:  # a failed description must not lose the model, nor report it as lost
        why = reason(error) if isinstance(error, HeadlightError | OSError) else f"{type(error).__name__}: {error}"
        raise RunError("head scores could not be measured ({error})", error=why) from error


def _as_json(score: HeadScore) -> dict[str, Any]:
    values = {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(score).items()}
    return {"does": str(sentence(score)), **values}  # in English: a card is read by everybody


def usual_output(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return how probable a model finds its own output on texts like those that it was trained on.

    Returns:
        `pairs`, how many were read, and `least_probability`: the mean token probability (geometric, in [0, 1]) that
        one in a hundred of their outputs does not reach. A text whose output stays below it is probably unlike
        those of training. Empty where an output is NaN or infinite.
    """
    config, results = model.config, []
    sources = {
        row: EncodedInput.of(tokenizer, pair.source, "encoder_decoder", config.max_seq_len).ids
        for row, pair in enumerate(pairs)
    }
    rooms = {row: min(config.max_seq_len, max(LEAST_ROOM, 2 * len(ids))) - 1 for row, ids in sources.items()}
    for rows, src in by_length(sources, model):
        try:
            decoding = greedy_decode(model, src, max_new_tokens=max(rooms[row] for row in rows))
        except NotFiniteError:
            return {}
        for row, tokens, log_probs in zip(rows, decoding.tokens[:, 1:].tolist(), decoding.log_probs, strict=True):
            n_written = len(until_end(tokens[: rooms[row]], config))  # as `run_text` writes it
            results.append(float(log_probs[:n_written].mean().exp()))
    return {"pairs": len(pairs), "least_probability": round(float(np.quantile(results, UNUSUAL)), 4)}


def guidance_facts(
    model: Transformer, tokenizer: Tokenizer, corpus: Corpus, training: TrainingConfig
) -> dict[str, Any]:
    """Return the facts about a guided head for a card: the errors without it, and without the others.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        corpus: that it was trained on; all its measures are applied to its held-out pairs.
        training: how it was trained.

    Returns:
        {} where no head was guided, or no measure applies. Else `pairs`, how many of the held-out ones are judged, and
        of these the shares in [0, 1] that are wrong: by the whole model (`wrong`), with the guided head switched off
        (`wrong_without_it`), and the mean over all other heads of the encoder (`wrong_without_another`).
    """
    if training.guided is None:
        return {}
    judged = [pair for pair in corpus.held_out if _verdict(corpus, pair, pair.target) is not None]
    if not judged:
        return {}
    wrong = shares_wrong(model, tokenizer, corpus, judged)
    others = np.delete(wrong.flatten(), np.ravel_multi_index(training.guided, wrong.shape))
    return {
        "pairs": len(judged),
        "wrong": round(_share_wrong(model, tokenizer, corpus, judged), 4),
        "wrong_without_it": round(float(wrong[training.guided]), 4),
        "wrong_without_another": round(float(others.mean()), 4),
    }


def shares_wrong(
    model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Pair]
) -> Float[np.ndarray, "layer head"]:
    """Return the share of wrong outputs with each head of the encoder zero-ablated.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        corpus: whose measures judge.
        pairs: that they judge.

    Returns:
        shares in [0, 1].
    """
    wrong = np.zeros((model.config.n_encoder_layers, model.config.n_heads))
    for layer, head in np.ndindex(*wrong.shape):
        with intervene(model, {f"encoder.blocks.{layer}.self_attn.hook_z": zero_heads([head])}):
            wrong[layer, head] = _share_wrong(model, tokenizer, corpus, pairs)
    return wrong


def _share_wrong(model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Pair]) -> float:
    verdicts = []
    for row, written in free_outputs(model, tokenizer, pairs):
        target = tokenizer.decode(tokenizer.encode(pairs[row].target))  # as this tokenizer writes it
        verdicts.append(_verdict(corpus, replace(pairs[row], target=target), tokenizer.decode(written)))
    return sum(verdict is False for verdict in verdicts) / len(verdicts)


def _verdict(corpus: Corpus, pair: Pair, output: str) -> bool | None:
    """Return whether an output is correct by all measures that apply to it; None if none does."""
    verdicts = [measure(pair, output) for measure in corpus.measures.values()]
    known = [verdict for verdict in verdicts if verdict is not None]
    return all(known) if known else None
