"""The processor of a model that reads images or sounds: from a file to the numbers that the model takes.

Its class is the installed library's; of a folder only the settings are read.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headlight.viewing.media import Image, Media, Medium, Sound
from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.errors import ArgumentError, CheckpointError, Message
from transformer_core.reasons import reason
from transformer_core.text.interface import Tokenizer

FILE = "preprocessor_config.json"
_TOGETHER = "processor_config.json"  # of a processor with several parts, among them a tokenizer
_PARTS = {"image": "image_processor", "audio": "feature_extractor"}
_PLURAL = {"image": Message("images"), "audio": Message("sounds")}
_MOST = {"image": 2_048, "audio": 2_000_000}  # the largest number in settings: pixels; samples
_MOST_OF = {"chunk_length": 120, "feature_size": 2_048, "num_mel_bins": 2_048, "sampling_rate": 192_000}
_INPUTS: Mapping[str, Medium] = {"pixel_values": "image", "input_values": "audio", "input_features": "audio"}


def medium_of(kind: Any) -> Medium | None:
    """Return the medium that a class of models reads; None: text.

    Raises:
        CheckpointError: it reads something else.
    """
    name = kind.main_input_name
    if name != "input_ids" and name not in _INPUTS:
        raise CheckpointError(
            "{kind} reads {name}, and only texts, images and sounds can be read here", kind=kind.__name__, name=name
        )
    return _INPUTS.get(name)


class MediaProcessor:
    """From an image or a sound to the inputs of a model.

    Attributes:
        medium: what it reads.
        feature_extractor: the image processor or feature extractor of the transformers library.
        tokenizer: of the decoder's tokens, or of those that the model predicts; None: there are none.
    """

    kind = "media"

    def __init__(self, medium: Medium, theirs: Any, tokenizer: Tokenizer | None = None) -> None:
        """Wrap an image processor or feature extractor."""
        self.medium, self.feature_extractor, self.tokenizer = medium, theirs, tokenizer

    @property
    def target(self) -> Tokenizer | None:
        """The tokenizer for what the model writes."""
        return self.tokenizer

    def seen(self, media: Media) -> np.ndarray:
        """Return the image as the model reads it, resized and cropped, as bytes [row, column, 3]; samples of a sound.

        Raises:
            ArgumentError: as from `inputs`.
        """
        if isinstance(media, Sound):
            return media.samples
        values = self.inputs(media)["pixel_values"][0]  # [channel, row, column]
        shape = (-1, 1, 1)
        for name, by in (("image_std", np.multiply), ("image_mean", np.add)):
            if getattr(self.feature_extractor, "do_normalize", False):
                values = by(values, np.reshape(getattr(self.feature_extractor, name), shape))
        most = 255 if getattr(self.feature_extractor, "do_rescale", True) else 1
        return np.moveaxis(np.clip(values * most, 0, 255).astype(np.uint8), 0, 2)

    def inputs(self, media: Media) -> dict[str, np.ndarray]:
        """Return the inputs of the model by name, [1, ...] each.

        Raises:
            ArgumentError: the processor reads the other medium, or cannot read this one.
        """
        if isinstance(media, Image) != (self.medium == "image"):
            raise ArgumentError("this model reads {medium} alone; give it one", medium=_PLURAL[self.medium])
        try:
            if isinstance(media, Sound):
                rate = int(self.feature_extractor.sampling_rate)
                read = self.feature_extractor(media.at(rate).samples, sampling_rate=rate, return_tensors="np")
            else:
                read = self.feature_extractor(media.pixels, return_tensors="np", input_data_format="channels_last")
        except Exception as error:  # of any processor, for any settings
            raise ArgumentError(
                "its processor {kind} cannot read it ({error:.300})",
                kind=type(self.feature_extractor).__name__,
                error=str(reason(error)) or type(error).__name__,
            ) from error
        return {name: np.asarray(value) for name, value in read.items()}


def settings_of(folder: Path, medium: Medium) -> dict[str, Any]:
    """Return the settings of the processor in a folder.

    Raises:
        CheckpointError: there are none, or absurd ones.
    """
    for file in (FILE, _TOGETHER):
        values: Any = read_json(folder, file) if (folder / file).is_file() else {}
        values = values.get(_PARTS[medium], values) if isinstance(values, dict) else {}
        if isinstance(values, dict) and any(f"{part}_type" in values for part in _PARTS.values()):
            _refuse_absurd(values, _MOST[medium])
            return {name: value for name, value in values.items() if name != "auto_map"}
    raise CheckpointError(
        "it has no {file}, which says how its {medium} are prepared; add this file, and import it again",
        file=FILE,
        medium=_PLURAL[medium],
    )


def _refuse_absurd(values: Mapping[str, Any], most: int) -> None:
    """Check that no number in the settings is so large that the inputs would fill the memory."""
    for name, value in values.items():
        parts = value if isinstance(value, dict) else {name: value}
        for n in (n for of in parts.values() for n in (of if isinstance(of, list) else [of])):
            if isinstance(n, int | float) and not abs(n) <= _MOST_OF.get(name, most):
                raise CheckpointError("its {file} has {name} = {n}, more than any model", file=FILE, name=name, n=n)


def processor_of(values: Mapping[str, Any], medium: Medium, tokenizer: Tokenizer | None = None) -> MediaProcessor:
    """Return the processor with these settings.

    Raises:
        CheckpointError: the installed library lacks it, or it needs a package that is not installed.
    """
    import transformers

    wanted = next((str(values[f"{part}_type"]) for part in _PARTS.values() if f"{part}_type" in values), "")
    stem = wanted.removesuffix("Fast").removesuffix("FeatureExtractor").removesuffix("ImageProcessor")
    # The first of an image needs no torchvision.
    ends = ("ImageProcessorPil", "ImageProcessor") if medium == "image" else ("FeatureExtractor",)
    names = [f"{stem}{end}" for end in ends]
    kind, lacking = None, list[str]()
    for candidate in (getattr(transformers, name, None) for name in names):
        lacking += getattr(candidate, "_backends", ())  # of a class that stands for one that cannot be imported
        if not hasattr(candidate, "_backends") and hasattr(candidate, "from_dict"):
            kind = candidate
            break
    if kind is None and lacking:
        raise CheckpointError(
            "its processor {name} needs {packages}, which is not installed", name=wanted, packages=", ".join(lacking)
        )
    if kind is None:
        raise CheckpointError("the installed transformers library has no processor {name}", name=wanted)
    try:
        theirs = kind.from_dict(dict(values))
    except ImportError as error:
        packages = str(reason(error))
        raise CheckpointError(
            "its processor {name} needs a package that is not installed ({error:.200})", name=wanted, error=packages
        ) from error
    except Exception as error:  # of any processor, for any settings
        raise CheckpointError("its {file} is damaged ({error:.200})", file=FILE, error=reason(error)) from error
    return MediaProcessor(medium, theirs, tokenizer)
