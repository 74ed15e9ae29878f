"""A model that reads images or sounds, computed by the `transformers` library, in the form that pages take."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headlight.analysis.trace.attention_maps import AttentionMaps
from headlight.analysis.trace.model_run import Blank, FillingCandidate, ModelRun
from headlight.analysis.trace.traced_forward import NOT_FINITE, EncodedInput
from headlight.viewing.eager import alone
from headlight.viewing.labels import seconds_of
from headlight.viewing.media import EXAMPLES, Media, Medium, Sound, example_media
from headlight.viewing.model import config_of, special_tokens
from headlight.viewing.patterns import PatternRecord
from headlight.viewing.processor import MediaProcessor
from headlight.viewing.reading import inputs_of, run_with_patterns, takes
from transformer_core.config import ModelConfig
from transformer_core.errors import ArgumentError, Message, TextError
from transformer_core.reasons import reason
from transformer_core.text.words import word_places

MOST_BYTES = 512 << 20  # of the patterns that are kept of an image or a sound, in single precision
MOST_NEW_TOKENS = 64
_N_CANDIDATES = 5  # classes
_NO_TOKENS: Mapping[str, Any] = {"pad_id": None, "bos_id": None, "eos_id": None}
_LENGTHS = ("max_target_positions", "max_position_embeddings")  # of a decoder


class MediaModel(nn.Module):
    """A model of the `transformers` library that reads images or sounds, with the sizes of its attention."""

    def __init__(self, theirs: Any, config: ModelConfig, medium: Medium) -> None:
        """Wrap a model in evaluation mode, loaded with eager attention; `config` is from `shape_of_media`."""
        super().__init__()
        self.theirs, self.config, self.medium = theirs, config, medium


def shape_of_media(theirs: Any, processor: MediaProcessor) -> tuple[ModelConfig, tuple[Message, ...]]:
    """Return the architecture, sizes and special tokens of a model, and notes, after running it on an example.

    Args:
        theirs: a model in evaluation mode.
        processor: its own.

    Raises:
        ArgumentError: it has no patterns, or cannot read what its processor returns.
        CheckpointError: its attentions are not those of one encoder or encoder-decoder.
    """
    given = _given(theirs, processor, example_media(EXAMPLES[processor.medium][0]))
    is_pair = takes(theirs, "decoder_input_ids")
    n_tokens = theirs.get_output_embeddings().weight.shape[0] if is_pair and theirs.can_generate() else 0
    special = special_tokens(theirs, n_tokens or theirs.config.get_text_config().vocab_size) if is_pair else _NO_TOKENS
    given |= _begun(theirs, [special["bos_id"] or 0]) if is_pair else {}
    output, record = run_with_patterns(theirs, given, processor)
    n = max(len(of.keys) for of in record.attentions.values())
    logits = output.get("logits")
    is_classifier = not is_pair and logits is not None and logits.ndim == 2
    return config_of(
        theirs,
        record,
        vocab_size=n_tokens or (logits.shape[1] if is_classifier else n),
        max_seq_len=n,
        unembed=bool(n_tokens) or is_classifier,
        special=special,
    )


@torch.no_grad()
def run_media(
    model: MediaModel,
    processor: MediaProcessor,
    media: Media,
    *,
    target: str | None = None,
    max_new_tokens: int = MOST_NEW_TOKENS,
) -> ModelRun:
    """Run a model on an image or a sound, as `run_text` does on a text.

    Positions of patches or frames stand in place of tokens. A classifier's most probable class is the output; an
    encoder-decoder writes greedily, or is teacher-forced on a target.

    Args:
        model: from `load_for_viewing`.
        processor: the model's.
        media: from `open_media` or `example_media`.
        target: for an encoder-decoder, what to make it write; None: what it writes on its own.
        max_new_tokens: written at most.

    Returns:
        The model run. Of a sound that the processor padded, the frames after its end are left out.

    Raises:
        ArgumentError: the model cannot read it, or its patterns are too large.
        TextError: the model takes no target, or cannot generate.
    """
    given = _given(model.theirs, processor, media)
    is_pair = model.config.architecture == "encoder_decoder"
    if target is not None and not is_pair:
        raise TextError("this model writes no text, so it takes no target")
    if is_pair:
        return _write(model, processor, media, given, target, max_new_tokens)
    output, record = run_with_patterns(model.theirs, given, processor)
    values = output["logits" if model.config.unembed else "last_hidden_state"]
    is_finite = bool(values.isfinite().all())
    candidates = _classes(model, values[0]) if model.config.unembed else ()
    blanks = (Blank(position=0, candidates=candidates if is_finite else (_NOT_FINITE,)),) if candidates else ()
    return ModelRun(
        architecture="encoder_only",
        output=blanks[0].candidates[0].label if blanks else "",
        target=(),
        n_given=0,
        judged=(),
        expected=(),
        log_probs=np.zeros(0, dtype=np.float32),
        blanks=blanks,
        unknown=(),
        ignores_white_space=False,
        is_complete=True,
        not_finite=None if is_finite else "logits",
        has_mask=False,
        predicts=model.config.unembed,
        **_source(record, given, processor, media),
    )


def _write(
    model: MediaModel,
    processor: MediaProcessor,
    media: Media,
    given: Mapping[str, Tensor],
    target: str | None,
    max_new_tokens: int,
) -> ModelRun:
    """Write a text about an image or a sound, or force a given one, and return the patterns of all its steps."""
    config, tokenizer = model.config, processor.tokenizer
    assert tokenizer is not None, "an encoder-decoder has it"
    begin, left_out = config.bos_id or 0, range(0)
    if target is not None:
        encoded = EncodedInput.of(tokenizer, target, "encoder_decoder", _room(model.theirs))
        written, left_out = encoded.ids[1 if encoded.ids[:1] == [begin] else 0 :], encoded.left_out
    else:
        written = _greedy(model, given, begin, max_new_tokens) if config.unembed else []
    tokens = [begin, *written[:-1]]
    output, record = run_with_patterns(model.theirs, {**given, **_begun(model.theirs, tokens)}, processor)
    labels = tuple(tokenizer.labels([begin, *written]))
    log_probs, predicted, is_finite = np.zeros(0, dtype=np.float32), tuple[str, ...](), True
    if config.unembed:
        logits = output["logits"][0, : len(written)].float()  # [pos, vocab]
        is_finite = bool(logits.isfinite().all())
        chosen = torch.tensor(written, device=logits.device)[:, None]
        log_probs = logits.log_softmax(dim=-1).gather(-1, chosen)[:, 0].cpu().numpy()
        predicted = tuple(
            NOT_FINITE if not is_finite else label if best == token else tokenizer.labels([best])[0]
            for best, token, label in zip(logits.argmax(dim=-1).tolist(), written, labels[1:], strict=True)
        )
    source = _source(record, given, processor, media)
    is_ended = bool(written) and written[-1] in config.eos_ids
    return ModelRun(
        architecture="encoder_decoder",
        output=tokenizer.decode(written) if target is None else target,
        target=labels[: len(tokens)],
        n_given=1 if target is None else len(tokens),
        following=labels[1:] if config.unembed else (),
        predicted=predicted,
        log_probs=log_probs,
        judged=tuple(range(len(written))),
        expected=tuple(written),
        unknown=(),
        ignores_white_space=False,
        target_left_out=left_out,
        is_complete=target is not None or is_ended or not config.unembed,
        not_finite=None if is_finite else "logits",
        end_id=written[-1] if is_ended else None,
        predicts=config.unembed,
        **source
        | {
            "inputs": (*source["inputs"], tuple(tokens)),
            "special": source["special"] | {"target": tuple(tokenizer.is_special(tokens))},
            "words": source["words"] | {"target": word_places(tokenizer, tokens)},
        },
    )


def _given(theirs: Any, processor: MediaProcessor, media: Media) -> dict[str, Any]:
    """Return the inputs of a model by name, on its device and in its precision."""
    read = processor.inputs(media)
    seconds = seconds_of(read, processor)
    if isinstance(media, Sound) and seconds and media.seconds > seconds + 0.1:
        raise ArgumentError(
            "the sound lasts {n:.1f} seconds, and this model reads at most {most:.1f}; save a part of it",
            n=media.seconds,
            most=seconds,
        )
    return inputs_of(theirs, processor, {name: value for name, value in read.items() if takes(theirs, name)})


def _begun(theirs: Any, tokens: Sequence[int]) -> dict[str, Tensor]:
    return {"decoder_input_ids": torch.tensor([[*tokens]], device=next(theirs.parameters()).device)}


def _room(theirs: Any) -> int:
    """Return how many tokens the decoder reads at most."""
    decoder = getattr(theirs.config, "decoder", theirs.config)
    return next((n for name in _LENGTHS if isinstance(n := getattr(decoder, name, None), int)), MOST_NEW_TOKENS + 1)


def _greedy(model: MediaModel, given: Mapping[str, Tensor], begin: int, n_new: int) -> list[int]:
    """Return the tokens that an encoder-decoder generates greedily, a final <eos> included."""
    from transformers import GenerationConfig, GenerationMixin

    config, generate = model.config, getattr(GenerationMixin, "generate")  # noqa: B009  # its types know no inputs
    settings = GenerationConfig(
        max_new_tokens=max(1, min(n_new, _room(model.theirs) - 1)),
        do_sample=False,
        num_beams=1,
        eos_token_id=[*config.eos_ids] or None,
        pad_token_id=config.pad_id if config.pad_id is not None else 0,
        decoder_start_token_id=begin,
    )
    try:
        with alone(model.theirs):  # the search of all models: Whisper's own hides the tokens that it begins with
            own = {**given, **_begun(model.theirs, [begin])}
            written: list[int] = generate(model.theirs, **own, generation_config=settings)[0].tolist()
            return written[1:]
    except Exception as error:  # of any model
        raise TextError(
            "transformers cannot generate with this model ({error:.300}); give a target",
            error=str(reason(error)) or type(error).__name__,
        ) from error


_NOT_FINITE = FillingCandidate(label=NOT_FINITE, probability=math.nan)


def _classes(model: MediaModel, logits: Tensor) -> tuple[FillingCandidate, ...]:
    """Return the most probable classes, the first one first."""
    top = logits.float().softmax(dim=-1).topk(min(_N_CANDIDATES, logits.shape[-1]))
    names = getattr(model.theirs.config, "id2label", None) or {}
    return tuple(
        FillingCandidate(label=str(names.get(i, i)), probability=probability)
        for i, probability in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    )


def _source(record: PatternRecord, given: Mapping[str, Any], processor: MediaProcessor, media: Media) -> dict[str, Any]:
    """Return the fields of a model run about the image or the sound, with the patterns.

    Raises:
        ArgumentError: the patterns are too large.
    """
    encoder = record.attentions["encoder"]
    n = n_all = len(encoder.keys)
    seconds = seconds_of(given, processor)
    if isinstance(media, Sound) and seconds:
        n = min(n_all, max(1, math.ceil(n_all * media.seconds / seconds)))
    ends = {"encoder": (n, n), "cross": (None, n), "decoder": (None, None)}
    cut = {name: of.patterns[:, :, : ends[name][0], : ends[name][1]] for name, of in record.attentions.items()}
    if (size := sum(patterns.nbytes for patterns in cut.values())) > MOST_BYTES:
        raise ArgumentError(
            "its patterns take {size:,.0f} MiB, more than the {most} MiB allowed; give a shorter input",
            size=size / 2**20,
            most=MOST_BYTES >> 20,
        )
    return {
        "source": tuple(encoder.keys[:n]),
        "inputs": (tuple(range(n)),),
        "special": {"source": tuple(map(bool, (encoder.special or [False] * n)[:n]))},
        "words": {"source": tuple(range(n))},
        "left_out": range(n, n_all),
        "attention_maps": {
            name: AttentionMaps.of_arrays(np.ascontiguousarray(patterns)) for name, patterns in cut.items()
        },
    }
