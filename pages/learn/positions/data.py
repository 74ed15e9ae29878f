"""The data of the Positions page: an encoding, the part that is shown, its sizes, and the model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headlight.language import say
from pages.learn.positions import view_fields
from pages.shared import cache, readings
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.positions.tables import PositionTable, StackName
    from headlight.analysis.trace.model_run import ModelRun

STORE = mark("positions")
TERMS = {  # glossary entry of each encoding
    "sinusoidal_halves": "sinusoidal-encoding",
    "sinusoidal_interleaved": "sinusoidal-encoding",
    "learned": "learned-positions",
    "rotary_halves": "rope",
    "rotary_interleaved": "rope",
    "alibi": "alibi",
    "relative_buckets": "relative-position-bias",
    "none": "positional-encoding",
}
NAMES = {
    "sinusoidal_halves": mark("Sinusoidal, in halves"),
    "sinusoidal_interleaved": mark("Sinusoidal, interleaved"),
    "learned": mark("Learned"),
    "rotary_halves": mark("Rotary, in halves"),
    "rotary_interleaved": mark("Rotary, interleaved"),
    "alibi": mark("ALiBi (linear bias)"),
    "relative_buckets": mark("T5 (distance buckets)"),
    "none": mark("None"),
}
USUAL_N = {"table": 20, "waves": 128, "products": 64, "shift": 64, "dials": 128, "bias": 32}  # positions of each part
USUAL_N_BUCKETS = 160  # enough positions to show the last bucket
USUAL_WIDTH = {"table": 512, "waves": 512, "products": 512, "shift": 16}  # of a sinusoidal table
USUAL_HEAD_WIDTH = 32  # of rotary positions if the model has none
BASE = 10_000.0  # of sinusoidal and of default rotary positions
USUAL_HEADS = 8  # heads with slopes, as published
MOST_TURNED = 128  # dimensions of a head shown as dials, two per dial


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionsData:
    """An encoding and a part of it; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    encoding: str
    part: str

    @classmethod
    def current(cls, card: ModelCard) -> "PositionsData":
        """Return the data of the page."""
        state.fit(card)
        view, encoding = state.current(), view_fields.ENCODING.value
        return cls(card=card, view=view, source=view.source(card), encoding=encoding, part=view_fields.part())

    @property
    def is_own(self) -> bool:
        """Whether the model uses this encoding."""
        config = self.card.config
        return config.positions == self.encoding or (config.relative_bias and self.encoding == "relative_buckets")

    @property
    def is_rotary(self) -> bool:
        """Whether the encoding rotates queries and keys."""
        return self.encoding.startswith("rotary")

    @property
    def lacks_table(self) -> bool:
        """Whether the encoding is learned and this model has not learned it."""
        return self.encoding == "learned" and not self.is_own

    @property
    def stack(self) -> "StackName":
        """Return the stack of the chosen attention, whose own positions are shown."""
        config = self.card.config
        is_encoder = config.has_encoder and (self.view.attention == "encoder" or not config.has_decoder)
        return "encoder" if is_encoder else "decoder"

    @property
    def n(self) -> int:
        """The number of positions that are drawn."""
        most = view_fields.MOST_POSITIONS
        if self.encoding == "learned":
            most = min(most, self.card.config.max_seq_len)
            return min(view_fields.N.value or most, most)
        usual = USUAL_N_BUCKETS if self.encoding == "relative_buckets" else USUAL_N.get(self.part, 1)
        if self.part == "table" and self.is_rotary:
            usual = USUAL_N["products"]
        return max(view_fields.N.value or usual, 2 if self.part == "shift" else 1)

    @property
    def width(self) -> int:
        """The number of dimensions of a position, or of a head if the encoding rotates queries and keys."""
        config = self.card.config
        if self.encoding == "learned":
            return config.embedding_width
        if self.is_rotary:
            usual = config.n_rotated if config.has_rotary_positions else USUAL_HEAD_WIDTH
            chosen = view_fields.WIDTH.value or usual
            return min(chosen, MOST_TURNED) if self.part == "dials" else chosen
        return view_fields.WIDTH.value or USUAL_WIDTH.get(self.part, 2)

    @property
    def base(self) -> float:
        """Return the base of the wavelengths: the longest wavelength is nearly 2 pi times the base."""
        config = self.card.config
        return config.rotary_base if self.is_rotary and config.has_rotary_positions else BASE

    @property
    def like(self) -> tuple[Expression, ...]:
        """The model's configuration as code if it supplies base and scaling of rotary positions; else empty."""
        if not (self.is_rotary and self.card.config.has_rotary_positions):
            return ()
        return (through(self.source.recipe()[0].config, lambda _: self.card.config),)

    @cached_property
    def table_recipe(self) -> Expression:
        """The table of the encoding as code."""
        from headlight.analysis.positions import tables

        if self.encoding == "learned":
            whole = call(tables.learned_table, self.source.recipe()[0], self.stack)
            return named("table", call(tables.PositionTable, values=whole.values[: self.n], columns=()))
        return named("table", call(tables.fixed_table, self.encoding, self.n, self.width, *self.like))

    @cached_property
    def table(self) -> "PositionTable":
        """The table of the encoding.

        Raises:
            HeadlightError: the encoding has none, or the model has not learned it.
        """
        return value_of(self.table_recipe)

    @property
    def shift(self) -> int:
        """The shift k, in positions."""
        return int(min(view_fields.SHIFT.value, len(self.table.values) - 1))

    @property
    def n_heads(self) -> int:
        """The number of heads for which ALiBi is shown."""
        return view_fields.N_HEADS.value or (self.card.config.n_heads if self.is_own else USUAL_HEADS)

    @property
    def alibi_scale(self) -> tuple[float, ...]:
        """The factor of the model's slopes, if it has one."""
        scale = self.card.config.alibi_scale
        return () if scale == 1 else (scale,)

    @property
    def model_run(self) -> "ModelRun | None":
        """The model run of the text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        return readings.current(self.card)

    @property
    def has_own_vectors(self) -> bool:
        """Whether the chosen head's own query and key can be used, rotated by this encoding."""
        return self.is_own and self.view.attention != "cross" and bool(self.view.text)

    @property
    def is_of_model(self) -> bool:
        """Whether the query and key are those of the chosen head, not one vector used as both."""
        return self.has_own_vectors and view_fields.VECTORS.value == "model"

    @property
    def chosen_tokens(self) -> tuple[int, int]:
        """The places in the text of the tokens whose query and key are rotated."""
        assert self.model_run is not None, "without a text there are no tokens"
        last = len(self.model_run.labels(self.view.attention)[0]) - 1
        query, key = view_fields.TOKENS.value or (last, 0)
        return min(query, last), min(key, last)

    @property
    def run_recipe(self) -> Expression:
        """The model run of the text, as code."""
        return readings.recipe(self.source, self.card.config, self.view.text, self.view.target)

    @property
    def products(self) -> Expression:
        """The dot products of all pairs of positions, or of one vector rotated to each pair of positions, as code."""
        from headlight.analysis.positions.tables import rotary_config, table_products, turned_products

        if not self.is_rotary:
            return named("products", call(table_products, self.table_recipe.values))
        config = call(rotary_config, self.encoding, self.width, *self.like)
        return named("products", cache.kept(STORE, call(turned_products, config, self.n)))

    @property
    def shifted(self) -> Expression:
        """The matrix that shifts every position by k, and its residual, as code."""
        from headlight.analysis.positions import tables

        return named("found", call(tables.shift, self.table_recipe, self.shift))

    @property
    def dials(self) -> Expression:
        """A query and a key of the chosen head, or one vector as both, as code."""
        from headlight.analysis.positions.relative import head_vectors, same_vector

        if not self.is_of_model:
            return named("dials", call(same_vector, self.encoding, self.width, *self.like))
        query, key = self.chosen_tokens
        place = {**self.view.head_name._asdict(), "query": query, "key": key}
        return named("dials", call(head_vectors, self.source.recipe()[0], self.run_recipe.inputs, **place))

    @property
    def learned_bias(self) -> Expression:
        """The learned biases of the buckets, as code."""
        from headlight.analysis.positions import relative

        return named("found", call(relative.learned_bias, self.source.recipe()[0], self.stack, self.n))

    @property
    def buckets(self) -> Expression:
        """The bucket of each distance, as code."""
        from headlight.analysis.positions import relative

        return named("found", call(relative.buckets, self.n, is_causal=view_fields.LOOK_AHEAD.value == "past"))

    @property
    def score_parts(self) -> Expression:
        """The chosen head's scores, decomposed into a sum of parts, as code."""
        from headlight.analysis.positions.share import score_parts

        model, head = self.source.recipe()[0], self.view.head_name
        return named("found", cache.kept(STORE, call(score_parts, model, self.run_recipe.inputs, **head._asdict())))

    @property
    def shares_of_heads(self) -> Expression:
        """The share of positions in the scores of every head, as code."""
        from headlight.analysis.positions import share

        inputs, attention = self.run_recipe.inputs, self.view.attention
        result = call(share.shares_of_heads, self.source.recipe()[0], inputs, attention=attention)
        return named("shares", cache.kept(STORE, result))

    @property
    def shuffled(self) -> Expression:
        """The attention and output of the model for the words in shuffled order, as code."""
        from headlight.analysis.positions.shuffled_words import shuffle_words

        options = {"attention": self.view.attention, "seed": view_fields.SEED.value}
        result = call(shuffle_words, *self.source.recipe(), self.run_recipe, **options)
        return named("found", cache.kept(STORE, result))


def in_words(encoding: str) -> str:
    """Return the name of an encoding."""
    return say(NAMES[encoding])


def by_distance(products: Expression) -> Expression:
    """Return the dot products by distance, as code."""
    from headlight.analysis.positions import tables

    return named("decay", call(tables.by_distance, products))
