"""Whether a stack of interventions fits a model: its attentions, layers, heads, widths and tokens."""

from headlight.analysis.interventions.records import Ablation, CellEdit, Component, Stack, TokenSwap
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, Message


def check_stack(config: ModelConfig, stack: Stack) -> None:
    """Check that a model has what the enabled entries of a stack name.

    Args:
        config: of the model.
        stack: whose entries are checked, one after the other.

    Raises:
        ConfigError: an entry that does not fit; the message says what the model has.
    """
    for entry in stack.enabled:
        if isinstance(entry, TokenSwap):
            _check_tokens(config, entry)
        elif isinstance(entry, CellEdit):
            check_component(
                config,
                Component(kind="pattern", attention=entry.attention, layer=entry.layer, heads=entry.heads),
            )
        else:
            check_component(config, entry.component)
            if isinstance(entry, Ablation) and entry.constant:
                _check_constant(config, entry)


def check_component(config: ModelConfig, component: Component) -> None:
    """Check that a model has a component.

    Raises:
        ConfigError: it does not.
    """
    attentions = attentions_of(config)
    if component.attention not in attentions:
        raise ConfigError(
            "this model has no {attention}; choose {available}",
            attention=Message(ATTENTIONS[component.attention].inline),
            available=Message.joined(", ", [Message(attention.inline) for attention in attentions.values()]),
        )
    n_layers = attentions[component.attention].n_layers(config)
    if component.layer >= n_layers:
        raise ConfigError(
            "there is no layer {layer} in the {attention}; the last is {last}, counted from 0",
            layer=component.layer,
            attention=Message(ATTENTIONS[component.attention].inline),
            last=n_layers - 1,
        )
    n_heads = head_count(config, component)
    for head in component.heads or ():
        if head >= n_heads:
            raise ConfigError(
                "there is no head {head} in this layer, which has {n}; the last is {last}, counted from 0",
                head=head,
                n=n_heads,
                last=n_heads - 1,
            )
    has_cross = component.attention == "decoder" and config.has_encoder
    needs_feed_forward = component.kind == "feed_forward" or (component.kind == "resid_mid" and not has_cross)
    if needs_feed_forward and not config.d_ff:
        raise ConfigError("the blocks of this model have no feed-forward network; choose another component")


def head_count(config: ModelConfig, component: Component) -> int:
    """Return how many heads the activation of a component has: those of keys and values may be fewer."""
    return config.n_kv_heads if component.kind in ("key", "value") else config.n_heads


def side_of(component: Component) -> str:
    """Return the side whose positions those of a component are, "source" or "target"."""
    attention = ATTENTIONS[component.attention]
    return attention.keys_from if component.kind in ("key", "value") else attention.queries_from


def _check_constant(config: ModelConfig, entry: Ablation) -> None:
    component = entry.component
    n = len(component.heads or range(head_count(config, component)))
    expected = n * config.d_head if component.kind in ("head", "query", "key", "value") else config.d_model
    if len(entry.constant) != expected:
        raise ConfigError(
            "the constant of this ablation needs {expected:,} numbers and has {n:,}; fit it for this component",
            expected=expected,
            n=len(entry.constant),
        )


def _check_tokens(config: ModelConfig, entry: TokenSwap) -> None:
    has_side = config.has_encoder if entry.side == "source" else config.has_decoder
    if not has_side:
        raise ConfigError("{kind} reads no {side}; swap tokens on the other side", kind=config.kind, side=entry.side)
    for token in entry.tokens:
        if token >= config.vocab_size:
            raise ConfigError(
                "token id {token} is not in the vocabulary; ids go from 0 to {last}",
                token=token,
                last=config.vocab_size - 1,
            )
        if token == config.suppressed_token_id:
            raise ConfigError("token {token} is padding and cannot be put at any position; choose another", token=token)
