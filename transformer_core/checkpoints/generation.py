"""Reading a generation_config.json: special tokens are used, and other settings are reported as not used.

Source: GenerationConfig of the `transformers` library. If there is such a file, it takes precedence over config.json,
also for the end-of-sequence token.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError

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
    """Return the object in a folder's generation_config.json, if there is one; a damaged one counts as missing."""
    try:
        return read_json(folder, FILE)
    except (CheckpointError, OSError):
        return None


def with_generation(values: Mapping[str, Any], generation: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the object in a config.json with the settings of a generation_config.json, if there is one."""
    if generation is None:
        return values
    start = generation.get("decoder_start_token_id")
    return {
        **values,
        KEY: generation,
        "eos_token_id": generation.get("eos_token_id"),
        **({} if start is None else {"decoder_start_token_id": start}),
    }


def not_taken_over(values: Mapping[str, Any], config: ModelConfig) -> str:
    """Return the settings that `transformers` would use and that are not used here: "num_beams = 4, ...".

    Args:
        values: from `with_generation`.
        config: of the model.
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
    return ", ".join(f"{name} = {shortened(value, 40)}" for name, value in used.items())


def shortened(value: object, most: int) -> str:
    """Return a value as text of at most `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
