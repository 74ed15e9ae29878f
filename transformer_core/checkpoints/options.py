"""What another library's config.json says, read so that nothing in it is passed over in silence.

An option is asked for by name, named as idle (it changes nothing that is computed), or left. Of those that were left,
the rule is: an option that is switched off (null, false, 0, empty) changes nothing; of the others, one whose name
speaks of what a model computes (`residual_multiplier`, `attention_sinks`) is refused, because the model read without
it may be another one; the rest (labels, versions, settings of generation and of training tools) are ignored.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from transformer_core.checked_fields import is_number
from transformer_core.checkpoints.checkpoint import CONFIG
from transformer_core.checkpoints.generation import FILE, KEY
from transformer_core.config import MOST_LAYERS, Activation
from transformer_core.errors import CheckpointError, Message

Choice = TypeVar("Choice")

ACTIVATIONS: Mapping[str, Activation] = {  # as the `transformers` library calls them
    "relu": "relu",
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
_IDLE_ANYWHERE = (  # their names speak of computing, and yet they say only how, or what is given out
    *("attn_implementation", "output_attentions", "output_hidden_states", "chunk_size_feed_forward"),
    *("tie_last_hidden_states", "tie_encoder_decoder", "pruned_heads", "cross_attention_hidden_size"),
)
_QUANTIZED = Message("its weights are quantized; choose a version of this model in float32, float16 or bfloat16")


class Options:
    """The options of one config.json; each is read at most where its family reads it, and `finish` looks at the rest.

    A value of null counts as absent, as it does in the library that writes these files.
    """

    def __init__(self, values: Mapping[str, Any], *, where: str | Message) -> None:
        """Begin to read.

        Args:
            values: the object in the file.
            where: what to call it in messages.
        """
        self.where = where
        self._values = values
        self._seen: set[str] = {"model_type", *_IDLE_ANYWHERE}
        self.beyond: dict[str, None] = {}  # special tokens that the vocabulary does not have, in their order

    def __contains__(self, name: str) -> bool:
        """Return whether the file says anything of an option."""
        return self._values.get(name) is not None

    def value(self, name: str, default: Any = None) -> Any:
        """Return an option as it stands, or the default where the file does not say."""
        self._seen.add(name)
        value = self._values.get(name)
        return default if value is None else value

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a whole number; without a default it must be there.

        Raises:
            CheckpointError: it is missing, or something else.
        """
        value = self._found_or(name, default)
        if type(value) is not int:
            raise self.error(name, Message("expected a whole number"))
        return value

    def n_layers(self, name: str) -> int:
        """Return how many layers there are, for what is made for each of them before the model's configuration is.

        Raises:
            CheckpointError: it is missing, no whole number, or more than a model may have.
        """
        if self.whole(name) > MOST_LAYERS:
            raise self.error(name, Message("at most {most:,} layers are supported", most=MOST_LAYERS))
        return self.whole(name)

    def whole_or_null(self, name: str, absent: int | None = None) -> int | None:
        """Return a whole number, or None where the file says null.

        Args:
            name: of the option.
            absent: what it means that the file says nothing.

        Raises:
            CheckpointError: it is something else.
        """
        if name not in self._values:
            self._seen.add(name)
            return absent
        return None if self.value(name) is None else self.whole(name)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number; without a default it must be there.

        Raises:
            CheckpointError: it is missing, or something else.
        """
        value = self._found_or(name, default)
        if not is_number(value):
            raise self.error(name, Message("expected a number"))
        return float(value)

    def switch(self, name: str, default: bool) -> bool:
        """Return true or false.

        Raises:
            CheckpointError: it is something else.
        """
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise self.error(name, Message("expected true or false"))
        return value

    def choice(self, name: str, choices: Mapping[str, Choice], default: str) -> Choice:
        """Return what stands for a name among `choices`.

        Raises:
            CheckpointError: a name that is not among them.
        """
        value = self.value(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.error(name, Message("supported are {choices}", choices=", ".join(choices)))
        return choices[value]

    def token(self, name: str, default: int | None = None) -> int | None:
        """Return a special token, the first where there are several; None where the vocabulary has none such.

        Raises:
            CheckpointError: it is no number of a token.
        """
        return next(iter(self.tokens(name, default)), None)

    def tokens(self, name: str, default: int | None = None) -> list[int]:
        """Return special tokens of one kind; those beyond the vocabulary are noted, and left out.

        Args:
            name: of the option.
            default: what it means that the file says nothing; null means none.

        Raises:
            CheckpointError: one is no number of a token.
        """
        self._seen.add(name)
        value = self._values.get(name, default)
        found = value if isinstance(value, list) else [] if value is None else [value]
        found = [int(token) if isinstance(token, float) and token.is_integer() else token for token in found]
        if any(type(token) is not int for token in found):
            raise self.error(name, Message("expected a token id"))
        if not found:
            return []
        vocab_size = self.whole("vocab_size")
        self.beyond |= {f"{name} = {token}": None for token in found if token >= vocab_size}
        return [token for token in dict.fromkeys(found) if 0 <= token < vocab_size]

    def padding(self, default: int | None = None, *, unless: Iterable[int | None] = ()) -> int | None:
        """Return the padding token; None where there is none, which is also written as -1.

        Args:
            default: what an absent option means; null means none.
            unless: tokens that mean something else: with one of them as padding, nothing can be known to be padding by
                its token, and the model is read as one without.

        Raises:
            CheckpointError: it is no number of a token.
        """
        token = self.token("pad_token_id", default)
        return None if token in unless else token

    def inside(self, name: str) -> "Options":
        """Return the options of an object in the file; none where it is absent.

        Raises:
            CheckpointError: it is no object.
        """
        values = self.value(name, {})
        if not isinstance(values, dict):
            raise self.error(name, Message("expected an object"))
        return Options(values, where=f"{self.where}: {name}")

    def must_be(self, name: str, only: Any, because: Message) -> None:
        """Check an option that this version supports with one value only; absent it counts as that.

        Raises:
            CheckpointError: it has another value.
        """
        if self.value(name, only) != only:
            raise self.error(name, because)

    def idle(self, *names: str) -> None:
        """Name options that change nothing that is computed here."""
        self._seen.update(names)

    def finish(self) -> None:
        """Look at what nobody asked for, by the rule that this file begins with.

        Raises:
            CheckpointError: an option that may change what the model computes, and that is unknown here.
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

    def error(self, name: str, why: Message) -> CheckpointError:
        """Return the error about an option's value, for the caller to raise."""
        is_of_generation = name in self._values.get(KEY, ())
        return CheckpointError(
            "{where}: {name} = {value} is not supported; {why}",
            where=f"{str(self.where).removesuffix(CONFIG)}{FILE}" if is_of_generation else self.where,
            name=name,
            value=_shortened(self._values.get(name)),
            why=why,
        )

    def _found_or(self, name: str, default: Any) -> Any:
        """Return an option that must be there unless it has a default."""
        value = self.value(name, default)
        if value is None:
            raise CheckpointError(
                "{where} lacks {name}, so it does not describe a complete model", where=self.where, name=name
            )
        return value


def _shortened(value: Any) -> str:
    """Return a value as it is written, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
