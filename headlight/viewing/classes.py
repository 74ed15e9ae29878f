"""The class of the installed `transformers` library that computes a model in a folder."""

from collections.abc import Mapping
from typing import Any

import torch

from headlight.viewing.processor import medium_of
from transformer_core.errors import CheckpointError

_PREDICTING = ("ForCausalLM", "ForMaskedLM", "ForConditionalGeneration", "LMHeadModel", "LMHead")  # ends of classes
_OF_MEDIA = ("Classification", "ClassificationWithTeacher", "EncoderDecoderModel")  # that read images or sounds
_MOST_TOGETHER = 100_000  # experts in all layers
_SLACK = 1 << 26  # numbers that a file may lack, such as masks and tied weights


def config_class(values: Mapping[str, Any]) -> Any:
    """Return the class of a configuration in the installed transformers library."""
    import transformers

    model_type = values.get("model_type")
    if not isinstance(model_type, str) or model_type not in transformers.CONFIG_MAPPING:
        raise CheckpointError("the installed transformers library has no such model")
    return transformers.CONFIG_MAPPING[model_type]


def class_of(config: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the class of a model, and its configuration.

    That is the saved class if it predicts tokens, or reads images or sounds and predicts classes; otherwise the model
    without a head. Of a pair of encoders such as CLIP, the one that reads images.

    Args:
        config: of the model.
        values: the object in its config.json.

    Raises:
        CheckpointError: it reads neither a text, nor an image, nor a sound.
    """
    import transformers

    saved = values.get("architectures")
    name = saved[0] if isinstance(saved, list) and saved else ""
    kind: Any = getattr(transformers, name, None) if isinstance(name, str) else None
    is_model = isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)
    if not (is_model and (name.endswith(_PREDICTING) or (name.endswith(_OF_MEDIA) and medium_of(kind)))):
        kind = transformers.MODEL_MAPPING[type(config)]
    kind = kind[0] if isinstance(kind, tuple) else kind
    image = getattr(config, "vision_config", None)
    if image is not None and hasattr(config, "text_config") and not kind.can_generate():
        kind, config = transformers.MODEL_MAPPING[type(image)], image
    medium_of(kind)
    return kind, config


def refuse_other_size(kind: Any, config: Any, n_stored: int, n_tensors: int) -> None:
    """Check, before memory is taken, that the configuration has about as many numbers as the files."""
    about = config.get_text_config()
    counts = {name: n for name, n in about.to_dict().items() if type(n) is int}
    counts["layers"] = getattr(about, "num_hidden_layers", 1)  # Funnel's are in lists
    n_layers, n_experts = (
        max((n for name, n in counts.items() if word in name), default=1) for word in ("layers", "experts")
    )
    if n_layers <= n_tensors and n_layers * n_experts <= _MOST_TOGETHER:
        with torch.device("meta"):
            built = kind._from_config(config)
        if sum(part.numel() for part in (*built.parameters(), *built.buffers())) <= 2 * n_stored + _SLACK:
            return
    raise CheckpointError("its config.json describes a larger model than its weights; the two files do not match")
