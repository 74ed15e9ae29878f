"""The settings of the model to train."""

from typing import get_args

import streamlit as st

from headlight.language import say
from pages.shared import prose
from pages.train.train.settings import ConfigWidgets
from transformer_core.config import Activation, ModelConfig, Norm, NormPosition, Positions, Tying
from transformer_core.errors import mark

SHARED: dict[tuple[Tying, bool], str] = {  # by sharing, and whether there are two stacks
    ("three_way", True): mark(
        "Source embedding, target embedding and output layer share one matrix, as in section 3.4 of the paper. This "
        "takes one vocabulary for source and target, which every corpus has here; with two vocabularies, only two-way "
        "sharing is possible."
    ),
    ("target", True): mark(
        "The target embedding and the output layer share one matrix; the source embedding has its own."
    ),
    ("target", False): mark(
        "The embedding and the output layer share one matrix. A single stack has no second embedding, so three-way "
        "sharing is not possible."
    ),
    ("none", True): mark("Source embedding, target embedding and output layer each have their own matrix."),
    ("none", False): mark("The embedding and the output layer each have their own matrix."),
}


def model_settings(prefix: str, usual: ModelConfig) -> ModelConfig:
    """Draw the settings of a model and return its configuration.

    Args:
        prefix: of the widgets' keys.
        usual: the preset, with the default values.

    Raises:
        ConfigError: the settings are invalid.
    """
    has_two_stacks = usual.architecture == "encoder_decoder"
    fields = ConfigWidgets(prefix, usual)
    with st.container(key="hl-train-shape"):
        most_layers = max(usual.n_encoder_layers, usual.n_decoder_layers)
        fields.add_number("n_layers", mark("Layers"), 1, 48, usual=most_layers)
        fields.add_number("n_heads", mark("Heads per layer"), 1, 64)
        fields.add_number("d_model", mark("Width (d_model)"), 8, 4096)
        fields.add_number("d_ff", mark("Feed-forward width"), 0, 16384)
        fields.add_choice("positions", mark("Positions"), get_args(Positions))
        fields.add_number("max_seq_len", mark("Maximum length (tokens)"), 4, 4096)
        fields.add_choice("norm", mark("Norm"), get_args(Norm))
        fields.add_choice("norm_position", mark("Norm position"), get_args(NormPosition))
        fields.add_choice("activation", mark("Activation"), get_args(Activation))
        tyings = [tying for tying in get_args(Tying) if has_two_stacks or tying != "three_way"]
        fields.add_choice("tie_embeddings", mark("Weight sharing"), tyings)
        fields.add_number("dropout", mark("Dropout"), 0.0, 0.9, step=0.05)
        fields.add_number("dropout_pattern", mark("Dropout on the pattern"), 0.0, 0.9, step=0.05)
    values = fields.values
    prose.small(say(SHARED[values["tie_embeddings"], has_two_stacks]))
    n_layers = values.pop("n_layers")
    stacks = {"n_encoder_layers": usual.has_encoder, "n_decoder_layers": usual.has_decoder}
    return usual.changed(**values, **{name: n_layers for name, is_there in stacks.items() if is_there})
