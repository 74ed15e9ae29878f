"""The data of the Heads page: the model run of a text, the chosen head, and how it is shown."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.analysis.heads.picture import HeadPicture, HeadShare, ViewSpec, picture
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.quantities import QUANTITIES
from headlight.language import say
from pages.explore.heads import view_fields
from pages.shared import cache, readings
from pages.shared.heads import axis_names, head_in_words
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, Unpacked, call, named, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import AttentionMaps
    from headlight.analysis.trace.model_run import ModelRun

QUANTITY_TERMS = {"scores": "attention-score", "written": "norm-weighted-attention"}
ATTENTION_TERMS = {  # worth looking for, by architecture and attention
    ("encoder_decoder", "encoder"): ("self-attention", "previous-token-score"),
    ("encoder_decoder", "decoder"): ("self-attention", "causal-mask"),
    ("encoder_decoder", "cross"): ("cross-attention",),
    ("decoder_only", "decoder"): ("previous-token-score", "attention-sink", "induction-head", "causal-mask"),
    ("encoder_only", "encoder"): ("self-attention", "attention-sink"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadsData:
    """A head on a text; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    model_run: "ModelRun"
    spec: ViewSpec

    @classmethod
    def current(cls, card: ModelCard) -> "HeadsData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view, model_run = state.current(), readings.current(card)
        if model_run is None:
            return None
        attention_maps = model_run.attention_maps[view.attention]
        view_fields.fit(*attention_maps.shape)
        if view_fields.QUANTITY.value not in quantities_of(attention_maps):
            view_fields.QUANTITY.set("pattern")
        source = view.source(card)
        return cls(card=card, view=view, source=source, model_run=model_run, spec=_spec(view, model_run))

    @property
    def attention_maps(self) -> "AttentionMaps":
        """The attention of the chosen head."""
        return self.model_run.attention_maps[self.view.attention]

    @property
    def quantities(self) -> list[str]:
        """The quantities that can be shown."""
        return quantities_of(self.attention_maps)

    def picture_of(self, spec: ViewSpec) -> HeadPicture:
        """Return the picture of the chosen attention by a spec, cached for all sessions.

        Raises:
            HeadlightError: there is nothing to draw.
        """
        shown: HeadPicture = value_of(self.recipe_of(spec))
        return shown

    @cached_property
    def recipe(self) -> Expression:
        """The model run as code."""
        return readings.recipe(self.source, self.card.config, self.view.text, self.view.target)

    def recipe_of(self, spec: ViewSpec) -> Expression:
        """Return the picture of the chosen attention by a spec, as code."""
        attention = self.view.attention
        drawn = call(picture, self.recipe.attention_maps[attention], spec, Unpacked(self.recipe.sides(attention)))
        return named("shown", cache.kept(mark("attention maps"), drawn))

    def axis_names(self, attention: str) -> dict[str, Any]:
        """Return the axis names of an attention, with a remark on where the generated tokens begin."""
        n = self.generated_from
        remark = "" if n is None else say(" (generated from token {n} on)", n=n)
        return axis_names(self.model_run.architecture, attention, remark, medium=self.card.medium)

    @property
    def title(self) -> str:
        """The title of the large figure."""
        return f"{say(QUANTITIES[self.spec.quantity].title)}: {self.who}"

    @property
    def who(self) -> str:
        """The chosen head or heads, as named in titles."""
        view, mean = self.view, view_fields.MEAN.value
        if len(self.spec.heads) > 1 and not mean:
            attention = say(ATTENTIONS[view.attention].inline)
            heads = ", ".join(f"L{s.layer}.H{s.head}" for s in self.spec.heads)
            return say("{attention}, mean of heads {heads}", attention=attention, heads=heads)
        return head_in_words(view.attention, view.layer, view.head, mean)

    def file_name(self, *more: str) -> str:
        """Return the name of a file that is saved, without its ending."""
        view, spec = self.view, self.spec
        parts = [view.model, view.attention]
        if len(spec.heads) == 1:
            parts += [f"layer{view.layer}", f"head{view.head}"]
        else:
            parts += [f"{len(spec.heads)}heads"]
        return "-".join([*parts, *([] if spec.quantity == "pattern" else [spec.quantity]), *more])

    @property
    def generated_from(self) -> int | None:
        """The position of the first token that a decoder-only model generated; None if it generated none."""
        model_run = self.model_run
        has_written = model_run.architecture == "decoder_only" and model_run.n_given < len(model_run.target)
        return model_run.n_given if has_written else None

    @property
    def share_before_divider(self) -> float | None:
        """The share of tokens before a second text, or before the generated tokens of a decoder-only model; else None.

        Always None for an encoder-decoder.
        """
        run = self.model_run
        place = run.border if self.generated_from is None else self.generated_from
        return None if place is None else place / len(run.source or run.target)


def quantities_of(attention_maps: "AttentionMaps") -> list[str]:
    """Return the quantities that can be shown of an attention; without values only those of the pattern."""
    return [name for name in QUANTITIES if attention_maps.has_values or name in ("pattern", "log")]


def _spec(view: View, model_run: "ModelRun") -> ViewSpec:
    n_layers, n_heads = model_run.attention_maps[view.attention].shape[:2]
    heads: tuple[HeadShare, ...] = view_fields.MIX.value or (HeadShare(layer=view.layer, head=view.head),)
    if view_fields.MEAN.value == "all":
        heads = tuple(HeadShare(layer=layer, head=head) for layer in range(n_layers) for head in range(n_heads))
    elif view_fields.MEAN.value == "layer":
        heads = tuple(HeadShare(layer=view.layer, head=head) for head in range(n_heads))
    return ViewSpec(
        heads=heads,
        quantity=view_fields.QUANTITY.value,
        in_words=view_fields.UNIT.value == "word",
        hidden=frozenset(part for part in view_fields.HIDDEN.value.split("+") if part),
        renormalise=view_fields.REST.value == "share",
        window=view_fields.WINDOW.value,
    )


def marked(data: HeadsData, shown: HeadPicture) -> tuple[int | None, int | None]:
    """Return the chosen query and key as places in a picture."""
    return shown.queries.place(view_fields.QUERY.value), shown.keys.place(view_fields.KEY.value)


def terms_of(data: HeadsData) -> list[str]:
    """Return the glossary names of the terms that the page uses in its current state."""
    chosen = [MEASURE_TEXTS[name].term for name in (view_fields.TINT.value,) if name]
    chosen += [QUANTITY_TERMS.get(data.spec.quantity, "attention-pattern")]
    chosen += ["attention-sink"] if "sinks" in view_fields.HIDDEN.value else []
    return [*dict.fromkeys([*chosen, *ATTENTION_TERMS[data.model_run.architecture, data.view.attention]])]
