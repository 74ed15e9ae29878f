"""Folders of models that are only viewed: original weights as safetensors, config.json, our tokenizer.json and card.

Nothing in such a folder is run as code: the classes are those of the installed `transformers` library, and settings
that name code, other models or programs are removed or refused.
"""

import re
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from headlight.viewing.classes import class_of, config_class, refuse_other_size
from headlight.viewing.media import EXAMPLES
from headlight.viewing.media_model import MediaModel, shape_of_media
from headlight.viewing.model import TransformersModel, shape_of
from headlight.viewing.processor import FILE as PROCESSOR
from headlight.viewing.processor import medium_of, processor_of, settings_of
from transformer_core.checkpoints.bring_in import new_card
from transformer_core.checkpoints.checkpoint import (
    CARD,
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    read_card,
    read_json,
    refuse_other_tokenizer,
)
from transformer_core.checkpoints.folder import write_json
from transformer_core.checkpoints.tensor_files import INDEX, TensorFiles, find_tensor_files
from transformer_core.config import ModelConfig
from transformer_core.devices import choose_device, choose_precision, free_memory, in_words
from transformer_core.errors import CheckpointError, ConfigError, HeadlightError, UnsupportedModelError
from transformer_core.reasons import reason
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import has_tokenizer, load_foreign, load_tokenizer

VIEWED = "viewed"  # key of the card
_REMOVED = {  # settings that name code, or an implementation of attention
    *("auto_map", "custom_pipelines", "attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
    *("experts_implementation", "_experts_implementation", "_name_or_path"),
}
_REFUSED = ("quantization_config", "compression_config", "backbone", "backbone_kwargs")
_COUNTS = re.compile(
    r"(?!.*_(size|dim|input)$)(.*(layers?|depths?|blocks?|experts?|codebooks?|heads?)(_|$).*|n_?layers?)"
)
_MOST = 2_000  # of layers, experts, and other parts
_loading = threading.Lock()  # from_pretrained replaces methods of classes meanwhile


def write_viewed(source: Path, new: Path, name: str, unsupported: UnsupportedModelError) -> dict[str, Any]:
    """Write the folder of a model for viewing, and return its card; for `bring_in`.

    Args:
        source: a folder of the `transformers` library, with safetensors.
        new: an existing, empty folder.
        name: an id, a path or a plain name, for the title.
        unsupported: why the core does not compute the model.

    Raises:
        CheckpointError: neither does transformers; or its weights are not safetensors or do not fit the configuration;
            or its patterns cannot be shown.
    """
    with _explained(unsupported):
        return _write(source, new, name)


def refuse_unviewable(values: Mapping[str, Any], unsupported: UnsupportedModelError) -> None:
    """Check that a model may be viewed, before its weights are downloaded; for `find`.

    Args:
        values: the object in its config.json.
        unsupported: why the core does not compute the model.

    Raises:
        CheckpointError: the installed transformers does not have its model_type, or it needs other programs or models.
    """
    with _explained(unsupported):
        config_class(dict(_safe(values)))


@contextmanager
def _explained(unsupported: UnsupportedModelError) -> Iterator[None]:
    """Add to errors why the core does not compute the model."""
    try:
        yield
    except HeadlightError as error:
        raise CheckpointError(
            "{unsupported}; nor can it be viewed: {error}", unsupported=unsupported, error=error
        ) from error


def _write(source: Path, new: Path, name: str) -> dict[str, Any]:
    paths = find_tensor_files(source, where=name)
    if any(path.suffix != ".safetensors" for path in paths):
        raise CheckpointError("its weights are not safetensors; save them with save_pretrained, and import the result")
    write_json(new / CONFIG, dict(_safe(read_json(source, CONFIG))))
    _copy(paths, new)
    theirs = _load(new, "cpu", torch.float32)
    medium = medium_of(type(theirs))
    if medium is None:
        config, notes = shape_of(theirs)
    else:
        settings = settings_of(source, medium)
        write_json(new / PROCESSOR, settings)
        config, notes = shape_of_media(theirs, processor_of(settings, medium))
    tokenizer = None
    if medium is None or config.has_decoder:
        tokenizer = _tokenizer(source, config)
        refuse_other_tokenizer(name, config, tokenizer)
        tokenizer.save(new / TOKENIZER)
    card = new_card(config, tokenizer, name, notes)
    card |= {} if medium is None else {"examples": [*EXAMPLES[medium]]}
    card["parameters"] = sum(parameter.numel() for parameter in theirs.parameters())
    card[VIEWED] = {"config": config.to_dict(), "reads": medium or "text"}
    write_json(new / CARD, card)
    return card


def is_viewed(folder: Path) -> bool:
    """Return whether a folder was written by `write_viewed`."""
    try:
        return VIEWED in read_card(folder)
    except CheckpointError:
        return False


def load_for_viewing(
    folder: str | Path, *, device: str | torch.device = "cpu", dtype: str | torch.dtype = "float32"
) -> tuple[Any, Any]:
    """Load a model for viewing, and its tokenizer, for `run_text`; or its processor, for `run_media`.

    Args:
        folder: written by `write_viewed`.
        device: "cpu", "cuda", "mps", or "auto".
        dtype: precision of the weights.

    Returns:
        A `TransformersModel` and a `Tokenizer`, or a `MediaModel` and a `MediaProcessor`.

    Raises:
        CheckpointError: the folder is missing or damaged.
        ConfigError: an unavailable device or precision, or too little memory.
    """
    folder = Path(folder)
    card = read_card(folder)
    if VIEWED not in card:
        raise CheckpointError("{folder} was not imported for viewing; load it with tc.load", folder=folder)
    try:
        config = ModelConfig.from_dict(card[VIEWED]["config"])
    except (AttributeError, KeyError, TypeError, ConfigError) as error:
        raise CheckpointError("the card of {folder} is damaged; import the model again", folder=folder) from error
    tokenizer = None
    if (medium := card[VIEWED].get("reads", "text")) not in EXAMPLES or config.has_decoder:
        tokenizer = load_tokenizer(folder / TOKENIZER)
        refuse_other_tokenizer(str(folder), config, tokenizer)
    theirs = _load(folder, device, choose_precision(dtype))
    if medium in EXAMPLES:
        return MediaModel(theirs, config, medium), processor_of(settings_of(folder, medium), medium, tokenizer)
    assert tokenizer is not None, "a model of texts has it"
    return TransformersModel(theirs, config), tokenizer


def _safe(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a config.json without those that name code.

    Raises:
        CheckpointError: a setting that needs other programs or models, or an absurd number of parts.
    """
    for name, value in values.items():
        if name in _REFUSED and value:
            raise CheckpointError("its config.json has {name}, which needs other programs or models", name=name)
        numbers = [n for n in (value if isinstance(value, list) else [value]) if type(n) is int]
        if (n := max(numbers, default=0)) > _MOST and _COUNTS.fullmatch(name):
            raise CheckpointError("its config.json has {name} = {n:,}, more than any model", name=name, n=n)
        if name not in _REMOVED:
            yield name, dict(_safe(value)) if isinstance(value, dict) else value


def _copy(paths: Sequence[Path], new: Path) -> None:
    """Copy weight files, and write an index of their tensors where there are several."""
    index: dict[str, str] = {}
    for path in paths:
        name = WEIGHTS if len(paths) == 1 else path.name
        index |= dict.fromkeys(TensorFiles([path]), name)
        shutil.copyfile(path, new / name)
    if len(paths) > 1:
        write_json(new / INDEX, {"metadata": {}, "weight_map": index})


def _load(folder: Path, device: str | torch.device, dtype: torch.dtype) -> Any:
    """Load a model of the `transformers` library with eager attention, after checking its size."""
    from transformers.utils import logging

    values, files = read_json(folder, CONFIG), TensorFiles(find_tensor_files(folder, where=folder.name))
    home, n_stored = choose_device(device), sum(files.shape(name).numel() for name in files)
    room, needed = free_memory(home), n_stored * dtype.itemsize
    if room is not None and needed > room:
        raise ConfigError(
            "it needs {needed} of memory, and {room} are free; choose a smaller model",
            needed=in_words(needed),
            room=in_words(room),
        )
    with _loading:
        verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            config = config_class(values).from_dict(values)
            kind, config = class_of(config, values)
            refuse_other_size(kind, config, n_stored, len(files))
            theirs, loaded = kind.from_pretrained(
                folder,
                config=config,
                dtype=dtype,
                attn_implementation="eager",
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
        except HeadlightError:
            raise
        except Exception as error:  # of any model, for any configuration
            raise CheckpointError(
                "transformers cannot load it ({error:.300})", error=str(reason(error)) or type(error).__name__
            ) from error
        finally:
            logging.set_verbosity(verbosity)
            if has_bars:
                logging.enable_progress_bar()
    lacking = sorted(map(str, [*loaded["missing_keys"], *loaded["mismatched_keys"]]))
    if lacking := [name for name in lacking if ".pooler." not in f".{name}"]:  # it reads final states, and no more
        raise CheckpointError("its files lack {name} for {kind}", name=lacking[0], kind=kind.__name__)
    return theirs.to(home).eval()


def _tokenizer(source: Path, config: ModelConfig) -> Tokenizer:
    """Return the tokenizer of a folder, or one that reads ids."""
    if is_viewed(source):  # downloaded from a server
        return load_tokenizer(source / TOKENIZER)
    if not has_tokenizer(source):
        return IdTokenizer.of(config)
    tokenizer = load_foreign(source)
    if isinstance(tokenizer, ForeignTokenizer) and tokenizer.beyond(config.vocab_size):
        return tokenizer.of_model(config.vocab_size)
    return tokenizer
