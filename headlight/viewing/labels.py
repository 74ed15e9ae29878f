"""Labels of the queries and keys of a model of the `transformers` library: tokens, image patches, audio frames."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from tokenizers import Tokenizer as Backend

from transformer_core.text.foreign import ROLES, STAND_INS, ForeignTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.labels import with_border

Modality = Literal["text", "image", "audio"]
IMAGES, SOUNDS = "pixel_values", ("input_features", "input_values")  # inputs of models, as transformers names them
_CLASS, _DISTILLATION = "[CLS]", "[DIST]"  # tokens in front of the patches of an image
_REGISTERS = tuple(f"[REG {i}]" for i in range(1, 16))  # tokens after them, in some models
_SAMPLING_RATE, _HOP_LENGTH = 16_000, 160  # of speech models, unless the processor has others


def tokenizer_of(theirs: Any) -> Tokenizer | None:
    """Return a tokenizer of the `transformers` library as ours; None if it is not one of the `tokenizers` library.

    Args:
        theirs: a tokenizer, or a processor that has one.
    """
    theirs = getattr(theirs, "tokenizer", theirs)
    if isinstance(theirs, Tokenizer):
        return theirs
    backend = getattr(theirs, "backend_tokenizer", None)
    if backend is None:
        return None
    special = {}
    for role in ROLES:
        i = getattr(theirs, f"{role}_token_id", None)
        special[role] = getattr(theirs, f"{STAND_INS[role]}_token_id", None) if i is None and role in STAND_INS else i
    return ForeignTokenizer(Backend.from_str(backend.to_str()), special)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels of what a model reads."""

    tokens: Sequence[str] = ()  # of the text, or of the encoder's
    target: Sequence[str] = ()  # of the decoder's text in an encoder-decoder
    special: frozenset[str] = frozenset()  # labels of special tokens
    patches: tuple[int, int] | None = None  # rows and columns of an image
    is_distilled: bool = False  # a distillation token follows the class token
    seconds: float | None = None  # duration of a sound
    hop: float | None = None  # seconds from a frame of a sound to the next; None: the duration divided by their number

    @classmethod
    def of(cls, config: Any, inputs: Mapping[str, Any], processor: Any = None) -> "Labels":
        """Return the labels of a model's inputs, one text, image or sound.

        Args:
            config: of the model; it has the size of patches.
            inputs: [1, ...] by name, as the model takes them.
            processor: the tokenizer or processor that made them; None: labels are token ids.
        """
        before = (_CLASS, _DISTILLATION, *_REGISTERS) if inputs.get(IMAGES) is not None else ()
        tokenizer, special = tokenizer_of(processor), {*before}

        def tokens(name: str) -> list[str]:
            ids = inputs[name][0].tolist() if inputs.get(name) is not None else []
            if tokenizer is not None:
                labels = tokenizer.labels(ids)
                special.update(label for label, has in zip(labels, tokenizer.is_special(ids), strict=True) if has)
                return labels
            theirs = getattr(processor, "tokenizer", processor)
            names = getattr(theirs, "convert_ids_to_tokens", lambda ids: [str(i) for i in ids])
            return [str(name) for name in names(ids)]

        segments = inputs.get("token_type_ids")
        ids = tokens("input_ids")
        if segments is not None and len(segments[0]) == len(ids) and 0 < int(segments[0].argmax()) < len(ids):
            ids = list(with_border(ids, int(segments[0].argmax())))
        has_samples = hasattr(config, "conv_stride") and inputs.get("input_values") is not None
        target = tokens("decoder_input_ids")
        return cls(
            hop=prod(config.conv_stride) / _rate(processor) if has_samples else None,
            tokens=ids,
            target=target,
            special=frozenset(special),
            patches=patches_of(config, inputs),
            is_distilled=getattr(config, "model_type", "") == "deit",
            seconds=seconds_of(inputs, processor),
        )

    def of_side(self, modality: Modality, n: int, *, is_target: bool) -> list[str] | None:
        """Return the labels of n queries or keys; None if the inputs do not tell them.

        Args:
            modality: of the part that computed them.
            n: their number.
            is_target: they are those of the decoder in an encoder-decoder.
        """
        known = self.target if is_target else self.tokens
        if modality == "text" and len(known) == n:
            return [*known]
        if modality == "image" and self.patches is not None:
            return self._of_patches(n, *self.patches)
        if modality == "audio" and self.seconds is not None:
            hop = self.seconds / n if self.hop is None else self.hop
            return [f"{place * hop:.2f} s" for place in range(n)]
        return None

    def _of_patches(self, n: int, n_rows: int, n_columns: int) -> list[str] | None:
        """Return the row and column of each patch, after the tokens in front; None if the numbers do not match."""
        n_before = n - n_rows * n_columns
        if not 0 <= n_before <= len(_REGISTERS) + 1:
            return None
        before = [_CLASS, *([_DISTILLATION] if self.is_distilled else []), *_REGISTERS][:n_before]
        return before + [f"{row}, {column}" for row in range(n_rows) for column in range(n_columns)]


def patch_grid(labels: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the number of tokens before the patches, and the rows and columns of patches; None: there are none."""
    match = re.fullmatch(r"(\d+), (\d+)", labels[-1]) if labels else None
    if match is None:
        return None
    n_rows, n_columns = int(match[1]) + 1, int(match[2]) + 1
    return len(labels) - n_rows * n_columns, n_rows, n_columns


def patches_of(config: Any, inputs: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the number of rows and columns of patches of an image; None without an image or a size of patches."""
    image = inputs.get(IMAGES)
    configs = [config, *(getattr(config, name, None) for name in config.sub_configs)]
    size = next((size for of in configs if (size := getattr(of, "patch_size", None))), None)
    if image is None or image.ndim != 4 or size is None:
        return None
    rows, columns = (size, size) if isinstance(size, int) else size
    return image.shape[-2] // rows, image.shape[-1] // columns


def seconds_of(inputs: Mapping[str, Any], processor: Any) -> float | None:
    """Return the duration of a sound; None without one."""
    extractor, rate = getattr(processor, "feature_extractor", processor), _rate(processor)
    samples, features = inputs.get("input_values"), inputs.get("input_features")
    if samples is not None and samples.ndim == 2:
        return float(samples.shape[-1] / rate)
    if features is not None:
        is_whisper = features.shape[-1] > features.shape[-2]  # [1, mel, frame]; others are [1, frame, mel]
        n_frames = features.shape[-1] if is_whisper else features.shape[-2]
        return float(n_frames * getattr(extractor, "hop_length", _HOP_LENGTH) / rate)
    return None


def _rate(processor: Any) -> int:
    """Return the sampling rate of a model's sounds, in samples per second."""
    return int(getattr(getattr(processor, "feature_extractor", processor), "sampling_rate", _SAMPLING_RATE))
