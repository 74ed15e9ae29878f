"""Reading another library's config.json without silently ignoring options that matter, and its generation_config.json.

A family reads options by name, or declares them idle (without effect on the computation). Other options are ignored if
they are off (null, false, 0, empty) or unrelated to the computation (labels, versions, settings of generation and
training). Any other one whose name suggests an effect (`residual_multiplier`, `attention_sinks`) is refused.

Of a generation_config.json, only special tokens are used; other settings are reported as unused. If it exists, it
takes precedence over config.json, also for the end-of-sequence token, as in GenerationConfig of the `transformers`
library.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from transformer_core.checked_fields import is_number
from transformer_core.checkpoints.checkpoint import CONFIG, read_json
from transformer_core.config import MOST_LAYERS, Activation, ModelConfig
from transformer_core.errors import CheckpointError, Message, UnsupportedModelError

FILE, KEY = "generation_config.json", "generation"

_IDLE = {  # settings that change the output, and their values without effect
    "do_sample": (False,),
    "num_beams": (1,),
    "max_length": (20,),
    "max_new_tokens": (),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "bad_words_ids": ([],),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "forced_decoder_ids": ([],),
    "sequence_bias": ({}, []),
    "exponential_decay_length_penalty": (),
    "guidance_scale": (1.0,),
    "penalty_alpha": (0.0,),
    "stop_strings": ([],),
    "max_time": (),
}
_IDLE_IN_SAMPLING = {
    "temperature": (1.0,),
    "top_k": (50,),
    "top_p": (1.0,),
    "min_p": (0.0,),
    "top_h": (),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
}
_IDLE_IN_BEAMS = {
    "length_penalty": (1.0,),
    "early_stopping": (False,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0.0,),
}


def generation_beside(folder: Path) -> Mapping[str, Any] | None:
    """Return the object in a folder's generation_config.json; None if the file is missing or damaged."""
    try:
        return read_json(folder, FILE)
    except (CheckpointError, OSError):
        return None


def with_generation(values: Mapping[str, Any], generation: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the object in a config.json, merged with the settings of a generation_config.json if there is one."""
    if generation is None:
        return {name: value for name, value in values.items() if name != KEY}
    start = generation.get("decoder_start_token_id")
    return {
        **values,
        KEY: generation,
        "eos_token_id": generation.get("eos_token_id"),
        **({} if start is None else {"decoder_start_token_id": start}),
    }


def not_taken_over(values: Mapping[str, Any], config: ModelConfig) -> str:
    """Return the settings that `transformers` would use but this library ignores: "num_beams = 4, ...".

    Args:
        values: from `with_generation`.
        config: the model's configuration.
    """
    generation = values.get(KEY, values)
    idle: dict[str, tuple[Any, ...]] = {**_IDLE}
    idle |= _IDLE_IN_SAMPLING if generation.get("do_sample") else {}
    idle |= _IDLE_IN_BEAMS if generation.get("num_beams") not in (None, 1) else {}
    idle["bad_words_ids"] = ([], [[config.pad_id]])  # padding is never generated
    settings = {name: generation.get(name) for name in idle}
    longest = settings["max_length"]
    if type(longest) is int and longest >= config.max_seq_len:
        del settings["max_length"]
    used = {name: value for name, value in settings.items() if value is not None and value not in idle[name]}
    return ", ".join(f"{name} = {_shortened(value, 40)}" for name, value in used.items())


def _shortened(value: object, most: int) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


T = TypeVar("T")

ACTIVATIONS: Mapping[str, Activation] = {  # by their names in the `transformers` library
    "relu": "relu",
    "relu2": "squared_relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}

_SPEAKS_OF_COMPUTING = (
    *("act_", "activation", "alibi", "attention", "attn", "bias", "cap", "embed", "expert", "head", "layer", "logit"),
    *("mask", "mlp", "moe", "multiplier", "norm", "position", "residual", "rope", "rotary", "scal", "sink", "window"),
)
_IDLE_ANYWHERE = (  # options whose names wrongly suggest an effect
    *("attn_implementation", "output_attentions", "output_hidden_states", "chunk_size_feed_forward"),
    *("tie_last_hidden_states", "tie_encoder_decoder", "pruned_heads", "cross_attention_hidden_size"),
)
_QUANTIZED = Message("its weights are quantized; choose a version of this model in float32, float16 or bfloat16")


class Options:
    """The options of one config.json; after a family has read its options, `finish` checks the others.

    A value of null counts as missing, as in the library that writes these files. Methods that return a value raise
    CheckpointError if it has the wrong type, or if it is missing and has no default.
    """

    def __init__(self, values: Mapping[str, Any], *, where: str | Message) -> None:
        self.where = where  # name of the file in messages
        self._values = values
        self._seen: set[str] = {"model_type", *_IDLE_ANYWHERE}
        self.n_tokens: int | None = None  # size of the vocabulary, if it is not an option
        self.beyond: dict[str, None] = {}  # special tokens beyond the vocabulary, in order
        self.notes: list[Message] = []  # on how the model differs from the file

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value of an option, or the default if it is missing."""
        self._seen.add(name)
        value = self._values.get(name)
        return default if value is None else value

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a whole number."""
        value = self._required(name, default)
        if type(value) is not int or abs(value) >= 2**63:
            raise self.error(name, Message("expected a whole number"))
        return value

    def n_layers(self, name: str) -> int:
        """Return the number of layers, whose limit is checked here because some values are computed per layer."""
        if self.whole(name) > MOST_LAYERS:
            raise self.error(name, Message("at most {most:,} layers are supported", most=MOST_LAYERS))
        return self.whole(name)

    def whole_or_null(self, name: str, absent: int | None = None) -> int | None:
        """Return a whole number, None if it is null, or `absent` if it is missing."""
        value = self.value(name, absent if name not in self._values else None)
        return None if value is None else self.whole(name, absent)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        value = self._required(name, default)
        if not is_number(value):
            raise self.error(name, Message("expected a number"))
        return float(value)

    def number_or_null(self, name: str, absent: float | None = None) -> float | None:
        """Return a number, None if it is null, or `absent` if it is missing."""
        value = self.value(name, absent if name not in self._values else None)
        return None if value is None else self.number(name, absent)

    def above_zero(self, name: str, default: float) -> float:
        """Return a number above 0."""
        if self.number(name, default) <= 0:
            raise self.error(name, Message("expected a number above 0"))
        return self.number(name, default)

    def switch(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise self.error(name, Message("expected true or false"))
        return value

    def tying(self, default: bool) -> Literal["target", "none"]:
        """Return whether the output layer is tied to the embedding, as `tie_embeddings` of `ModelConfig`."""
        return "target" if self.switch("tie_word_embeddings", default) else "none"

    def choice(self, name: str, choices: Mapping[str, T], default: str) -> T:
        """Return the entry of `choices` that the option names."""
        value = self.value(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.error(name, Message("supported are {choices}", choices=", ".join(choices)))
        return choices[value]

    def token(self, name: str, default: int | None = None) -> int | None:
        """Return a special token, or the first of several; None if there is none, which some files write as -1."""
        return next(iter(self.tokens(name, default)), None)

    def tokens(self, name: str, default: int | None = None) -> list[int]:
        """Return all special tokens of an option; those beyond the vocabulary are dropped, and kept in `beyond`.

        Args:
            name: the option's name.
            default: the token if the option is missing; null means no token.
        """
        self._seen.add(name)
        value = self._values.get(name, default)
        tokens = value if isinstance(value, list) else [] if value is None else [value]
        tokens = [int(token) if isinstance(token, float) and token.is_integer() else token for token in tokens]
        if any(type(token) is not int for token in tokens):
            raise self.error(name, Message("expected a token id"))
        if not tokens:
            return []
        vocab_size = self.n_tokens or self.whole("vocab_size")
        self.beyond |= {f"{name} = {token}": None for token in tokens if token >= vocab_size}
        return [token for token in dict.fromkeys(tokens) if 0 <= token < vocab_size]

    def tokens_of_decoder(self, bos: int | None, eos: int | None, pad: int | None = None) -> dict[str, Any]:
        """Return the special tokens of a decoder, by field of `ModelConfig`.

        A padding token that also begins or ends a text cannot be recognized, so it is left out.

        Args:
            bos: the default beginning-of-sequence token.
            eos: the default end-of-sequence token.
            pad: the default padding token.
        """
        begin, ends = self.token("bos_token_id", bos), self.tokens("eos_token_id", eos)
        pad = self.token("pad_token_id", pad)
        return {
            "pad_id": None if pad in (begin, *ends) else pad,
            "bos_id": begin,
            "eos_id": next(iter(ends), None),
        }

    def spelled(self, *names: str) -> str:
        """Return the first name of an option with several names that the file has; the last name if it has none."""
        self.idle(*names)
        return next((name for name in names if name in self), names[-1])

    def inside(self, name: str) -> "Options":
        """Return the options of a nested object; they are empty if it is missing."""
        values = self.value(name, {})
        if not isinstance(values, dict):
            raise self.error(name, Message("expected an object"))
        return Options(values, where=f"{self.where}: {name}")

    def must_be(self, name: str, only: Any, because: Message) -> None:
        """Check that an option has the only supported value, which is also its default.

        Raises:
            CheckpointError: it has another value.
        """
        if self.value(name, only) != only:
            raise self.error(name, because)

    def idle(self, *names: str) -> None:
        """Declare options without effect on the computation."""
        self._seen.update(names)

    def finish(self) -> None:
        """Check all options that have not been read, by the rule in the module's docstring.

        Raises:
            CheckpointError: an unknown option that may have an effect on the computation.
        """
        self.must_be("quantization_config", None, _QUANTIZED)
        for name, value in self._values.items():
            is_off = value is None or (not isinstance(value, str) and not value) or value == ""
            is_setting = name.startswith("_") or name.endswith(("_token_id", "_ids"))
            if name in self._seen or is_off or is_setting:
                continue
            if any(part in f"{name.lower()}_" for part in _SPEAKS_OF_COMPUTING):
                raise self.error(
                    name,
                    Message("it may change the model's output; if you know that it does not, remove it from the file"),
                )

    def error(self, name: str, why: Message) -> UnsupportedModelError:
        """Return the error about an option's value."""
        is_of_generation = name in self._values.get(KEY, ())
        return UnsupportedModelError(
            "{where}: {name} = {value} is not supported; {why}",
            where=f"{str(self.where).removesuffix(CONFIG)}{FILE}" if is_of_generation else self.where,
            name=name,
            value=_shortened(self._values.get(name), 80),
            why=why,
        )

    def _required(self, name: str, default: Any) -> Any:
        """Return an option that is required unless it has a default."""
        value = self.value(name, default)
        if value is None:
            raise CheckpointError(
                "{where} lacks {name}, so it does not describe a complete model", where=self.where, name=name
            )
        return value
