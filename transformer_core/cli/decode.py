"""`python -m transformer_core decode`: run a model on texts."""

import argparse
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_core.cli.progress import LoadingProgress
from transformer_core.errors import ConfigError, Message, TextError

if TYPE_CHECKING:  # imports torch
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Given, Tokenizer

_EXAMPLES = """\
examples:
  python -m transformer_core decode checkpoints/en-fr "The cat sleeps."
  python -m transformer_core decode openai-community/gpt2 --tokens 40 "Once upon a time"
  python -m transformer_core decode google-bert/bert-base-uncased "The ____ sleeps."
  python -m transformer_core decode google-bert/bert-base-uncased "The cat sleeps." --second "It is ____."
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `decode` to the commands."""
    parser = commands.add_parser(
        "decode",
        help="run a model on texts",
        description="Print the greedy output of a model, or a text with the most probable token in each blank.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source",
        metavar="MODEL",
        help="a checkpoint folder, a Hugging Face folder, or an id of the Hugging Face Hub, which is downloaded once",
    )
    parser.add_argument("texts", metavar="TEXT", nargs="+", help="the input; - reads lines from the standard input")
    parser.add_argument("--second", metavar="TEXT", help="for an encoder such as BERT: the second text of each pair")
    parser.add_argument("--tokens", metavar="N", type=int, help="generate at most N tokens (as many as the model can)")
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="cpu, cuda, cuda:1, mps, or auto (cpu)")
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Print one output per text; return 0."""
    from transformer_core.checkpoints.load import load
    from transformer_core.checkpoints.location import find
    from transformer_core.text.interface import NO_TOKENS
    from transformer_core.text.words import is_ignored, unknown_words

    with LoadingProgress() as progress:
        notes: list[Message] = []
        place = find(options.source, progress.show)
        model, tokenizer = load(place, device=options.device, on_progress=progress.show, on_note=notes.append)
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    for text in _lines(options.texts, tokenizer):
        given = text if options.second is None else (text, options.second)
        if not any(map(tokenizer.encode, (given,) if isinstance(given, str) else given)):
            raise TextError(NO_TOKENS)
        if unknown := unknown_words(tokenizer, given):
            print(f"warning: the model does not know {', '.join(unknown)}", file=sys.stderr)
        if model.decoder is None:
            print(_filled_in(model, tokenizer, given), flush=True)
        else:
            written, probability = _written(model, tokenizer, given, options.tokens)
            print(written, flush=True)
            if model.encoder is not None and not unknown and probability < _lowest_usual(place.folder):
                print("warning: this text is probably unlike the training data; expect poor output", file=sys.stderr)
        if is_ignored(tokenizer, given):
            print("warning: the model ignores some spaces, tabs or line breaks in this text", file=sys.stderr)
    return 0


def _lowest_usual(folder: Path) -> float:
    """Return the lowest usual probability of a model's outputs on texts like its training data; 0: unknown."""
    from transformer_core.checkpoints.checkpoint import read_card

    with suppress(LookupError, TypeError, ValueError):  # no card, or another program's
        return float(read_card(folder)["usual"]["least_probability"])
    return 0.0


def _written(model: "Transformer", tokenizer: "Tokenizer", text: "Given", n_tokens: int | None) -> tuple[str, float]:
    """Return the output of a decoder, with the prompt if any, and the geometric mean probability of its tokens."""
    import torch

    from transformer_core.decoding.greedy import greedy_decode

    read = torch.tensor([tokenizer.encode_for(text, model.config.architecture)], device=next(model.parameters()).device)
    decoding = greedy_decode(model, read, max_new_tokens=n_tokens)
    tokens = decoding.tokens[0].tolist()
    if tokens[-1] not in model.config.eos_ids and n_tokens is None:
        n_written = len(tokens) - (1 if model.encoder is not None else read.shape[1])
        print(f"warning: the output was cut off after {n_written} tokens", file=sys.stderr)
    return tokenizer.target.decode(tokens), decoding.log_probs.mean().exp().item()


def _filled_in(model: "Transformer", tokenizer: "Tokenizer", text: "Given") -> str:
    """Return a text, or a pair, with the most probable token in each blank."""
    import torch

    from transformer_core.decoding.inputs import final_states, tensor_of
    from transformer_core.instrument.finite import refusal
    from transformer_core.model.transformer import NO_PREDICTIONS

    if not model.config.unembed:
        raise ConfigError(NO_PREDICTIONS)
    if tokenizer.mask_id is None:
        raise TextError("this model has no mask token, so it cannot fill in blanks")
    tokens = tensor_of(tokenizer.encode_for(text, "encoder_only"), model)
    segments = [] if isinstance(text, str) else [tokenizer.segments_for(text)[0]]
    is_gap = tokens == tokenizer.mask_id
    if not is_gap.any():
        raise TextError("the text has no blank; type ____ where the model should predict a word")
    with torch.inference_mode():
        most, likeliest = model.logits_of(final_states(model, (tokens, *segments))).max(dim=-1)
        if not most[is_gap].isfinite().all():
            raise refusal(model, lambda: model.logits_of(final_states(model, (tokens, *segments))))
    return tokenizer.decode(torch.where(is_gap, likeliest, tokens)[0])


def _lines(texts: Iterable[str], tokenizer: "Tokenizer") -> Iterable[str]:
    """Yield the texts, with "-" replaced by the lines of the standard input that have tokens."""
    for text in texts:
        if text == "-":
            yield from filter(tokenizer.encode, (line.removesuffix("\n") for line in sys.stdin))
        else:
            yield text
