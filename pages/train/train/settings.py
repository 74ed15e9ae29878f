"""The settings of a training, on the page and as command-line arguments."""

from collections.abc import Sequence
from typing import Any

from headlight.language import say
from pages.shared import devices, prose
from pages.shared.corpora import CorpusChoice
from pages.shared.glossary.links import definitions
from pages.shared.view.fields import Kept
from transformer_core.config import SPECIAL_TOKEN_FIELDS, ModelConfig
from transformer_core.errors import mark
from transformer_core.model.presets import PRESETS
from transformer_core.training.config import TrainingConfig
from transformer_core.training.presets import preset_training

_WORDS = {  # labels of options whose names are not readable
    "sinusoidal_interleaved": mark("sinusoidal, as in the paper"),
    "sinusoidal_halves": mark("sinusoidal, sines left"),
    "rotary_halves": mark("rotary"),
    "rotary_interleaved": mark("rotary, interleaved"),
    "alibi": mark("ALiBi"),
    "relative_buckets": mark("relative (T5)"),
    "layer": mark("LayerNorm"),
    "layer_without_bias": mark("LayerNorm, no bias"),
    "rms": mark("RMSNorm"),
    "post": mark("after (paper)"),
    "pre": mark("before"),
    "relu": mark("ReLU"),
    "gelu": mark("GELU"),
    "gelu_tanh": mark("GELU (tanh)"),
    "silu": mark("SiLU"),
    "squared_relu": mark("ReLU, squared"),
    "three_way": mark("three-way (paper)"),
    "target": mark("two-way"),
    "paper": mark("as in the paper"),
    "cosine": mark("cosine"),
    "constant": mark("constant"),
    "learned": mark("learned"),
    "none": mark("none"),
    "adam": mark("Adam"),
    "adamw": mark("AdamW"),
    "fp32": mark("float32"),
    "bf16": mark("bfloat16"),
}
_TERMS = {  # of settings, in the glossary
    "positions": "positional-encoding",
    "norm": "layer-norm",
    "norm_position": "pre-norm",
    "tie_embeddings": "tied-embeddings",
    "dropout": "dropout",
    "dropout_pattern": "dropout",
    "learning_rate_factor": "warm-up",
    "schedule": "warm-up",
    "warmup_steps": "warm-up",
    "clip_norm": "gradient-clipping",
    "weight_decay": "weight-decay",
    "label_smoothing": "label-smoothing",
    "accumulate": "gradient-accumulation",
    "film_megabytes": "snapshot",
    "precision": "mixed-precision",
}
_PRESETS = {
    "tiny": mark("tiny: 2 layers, 4 heads, minutes"),
    "tiny-pre-norm": mark("tiny, pre-norm: learns in half the time"),
    "tiny-one-layer": mark("one layer, 4 heads: seconds"),
    "translation": mark("for real translation: 4 layers, 4 heads"),
    "tiny-decoder": mark("tiny: 4 layers, 4 heads"),
    "tiny-attention": mark("attention only: 2 layers without feed-forward"),
    "tiny-encoder": mark("tiny: 4 layers, 4 heads"),
    "transformer_base": mark("the paper's base model, for a GPU"),
    "transformer_big": mark("the paper's big model, for GPUs"),
    "gpt2": mark("as large as GPT-2 small, for a GPU"),
    "bert-base": mark("as large as BERT base, for a GPU"),
    "t5-small": mark("as large as T5 small, for a GPU"),
    "llama-like": mark("like a small Llama, for a GPU"),
}


def preset_in_words(name: str) -> str:
    """Return the description of a preset."""
    return say(_PRESETS.get(name, name))


class ConfigWidgets:
    """Widgets for the fields of a configuration. Values are kept separately for each choice of corpus and preset."""

    def __init__(self, prefix: str, usual: ModelConfig | TrainingConfig) -> None:
        """Start with no widget; `prefix` distinguishes corpora and presets, and `usual` has the default values."""
        self.prefix, self.usual = prefix, usual
        self.values = dict[str, Any]()  # by name of the field

    def add_number(
        self, name: str, label: str, least: float, most: float, *, usual: int | None = None, step: float | None = None
    ) -> None:
        """Draw a number input; it takes integers if its limits are integers."""
        kind, default = type(least), getattr(self.usual, name) if usual is None else usual
        control = Kept(f"{self.prefix}-{name}", kind(min(max(default or 0, least), most)))
        control.number(say(label), least, most, step=step, format="%g" if step else None, help=_about(name))
        self.values[name] = kind(control.value)

    def add_choice(self, name: str, label: str, options: Sequence[str], usual: str = "") -> None:
        """Draw a choice of one of several words."""
        is_device = name == "device"
        names = {one: devices.name_of(one) if is_device else say(_WORDS.get(one, one)) for one in options}
        control = Kept(f"{self.prefix}-{name}", usual or getattr(self.usual, name))
        control.selectbox(say(label), options, name=names.__getitem__, help=_about(name))
        self.values[name] = control.value


def _about(setting: str) -> str | None:
    """Return the help of a setting: its definition, where the glossary has one."""
    links = definitions(_TERMS[setting]) if setting in _TERMS else ()
    return prose.with_links(links[0].about, links) if links else None


def arguments(
    choice: CorpusChoice, preset: str, model: ModelConfig, training: TrainingConfig, device: str
) -> list[str]:
    """Return the arguments of `train` for these settings, without the run's folder."""
    words = ["--corpus", choice.corpus, "--preset", preset, "--device", device]
    usual = PRESETS[preset](model.vocab_size).to_dict() | preset_training(preset, choice.name).to_dict()
    follows = ("vocab_size", *SPECIAL_TOKEN_FIELDS, "d_head", "n_kv_heads")  # from the corpus, and the others
    for name, value in (model.to_dict() | training.to_dict()).items():
        if value != usual[name] and name not in follows:
            words += ["--set", f"{name}={str(value).lower()}"]
    for name, value in choice.reading.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else str(value).lower()}"]
    return words
