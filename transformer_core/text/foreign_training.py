"""Foreign tokenizers for training new models: adds missing special tokens, and places them around texts."""

from collections.abc import Mapping

from tokenizers import AddedToken, processors

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError
from transformer_core.text.foreign import ForeignTokenizer

_WRITTEN = {"pad": "<pad>", "bos": "<bos>", "eos": "<eos>", "mask": "<mask>"}  # if the tokenizer has none
# Decoder-only models never see the padding on the right, so any token will do.
_NEEDED: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("bos", "eos", "pad"),
    "decoder_only": ("bos", "eos"),
    "encoder_only": ("bos", "eos", "pad", "mask"),
}
# As tokenizers that are trained here read a text: "$A" is the text, of pairs the source.
_READ: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("$A", "eos"),
    "decoder_only": ("bos", "$A"),
    "encoder_only": ("bos", "$A", "eos"),
}


def for_training(tokenizer: ForeignTokenizer, architecture: Architecture) -> ForeignTokenizer:
    """Return a copy of a tokenizer for training a model of an architecture.

    Special tokens that it lacks are added after its vocabulary. GPT-2's <|endoftext|> begins and ends texts; it gets a
    <pad> for pairs, and nothing for decoder-only models.

    Raises:
        CheckpointError: a token cannot be added, or cannot be placed around a text.
    """
    backend, special = tokenizer.parts()
    if special["pad"] in (special["bos"], special["eos"]):  # as padding it would never be attended to
        special["pad"] = None
    n_before = tokenizer.vocab_size
    lacking = [role for role in _NEEDED[architecture] if special[role] is None]
    backend.add_special_tokens([AddedToken(_WRITTEN[role], special=True, normalized=False) for role in lacking])
    special |= {role: backend.token_to_id(_WRITTEN[role]) for role in lacking}
    ids = backend.get_vocab().values()
    if len({*ids}) != len(ids) or max(ids) + 1 > n_before + len(lacking):
        raise CheckpointError(
            "the token ids of this tokenizer are not contiguous, so no tokens can be added; choose another tokenizer"
        )
    around = {role: i for role, i in special.items() if i is not None and role in _READ[architecture]}
    written = {role: backend.id_to_token(i) for role, i in around.items()}
    try:
        framed = processors.TemplateProcessing(
            single=[written.get(part, part) for part in _READ[architecture]],
            special_tokens=[(written[role], i) for role, i in around.items()],
        )
    except ValueError as error:
        raise CheckpointError(
            "the special tokens of this tokenizer cannot mark the start and end of a text; choose another tokenizer"
        ) from error
    cuts_spaces = isinstance(backend.post_processor, processors.ByteLevel)  # from the offsets of tokens
    backend.post_processor = processors.Sequence([backend.post_processor, framed]) if cuts_spaces else framed
    return ForeignTokenizer(backend, special)
