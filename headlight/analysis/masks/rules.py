"""Rules for masks that replace the model's own, with cells toggled by hand."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.analysis.masks.presets import PRESETS, MaskKind
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.instrument.sites import Site
from transformer_core.model.masks import block_mask, prefix_mask, sliding_window_mask

MaskCell = tuple[int, int]
"""Query and key, as positions in the whole text."""


@dataclass(frozen=True, kw_only=True)
class MaskRule:
    """How one attention's mask is made; an intervention at `hook_mask`.

    >>> with tc.intervene(model, {"decoder.blocks.*.self_attn.hook_mask": MaskRule(kind="window", size=3)}):
    ...     logits = model(src, tgt)
    """

    kind: MaskKind = "own"
    size: int = 1  # of the window, the prefix or the blocks
    looks_back: bool = False  # the attention is causal: windows and blocks hide the future, too
    n_real: int | None = None  # number of keys before the padding; None: all
    turned: tuple[MaskCell, ...] = ()  # toggled cells: allowed where the rule forbids, forbidden where it allows

    def __call__(self, own: Bool[Tensor, "*batch query key"], site: Site) -> Bool[Tensor, "*batch query key"]:
        """Return the mask that takes the place of the model's own, True = may attend."""
        (n_queries, n_keys), first, device = own.shape[-2:], site.first, own.device
        everything = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
        is_real = torch.arange(n_keys, device=device) < (n_keys if self.n_real is None else self.n_real)
        is_past = prefix_mask(n_queries, n_keys, 0, n_past=first, device=device)
        seen = is_real & (is_past if self.looks_back else everything)
        match self.kind:
            case "own":
                mask = own
            case "flipped":
                mask = ~own
            case "padding":
                mask = everything & is_real
            case "look_ahead":
                mask = is_past
            case "padding_look_ahead":
                mask = is_past & is_real
            case "window":
                mask = sliding_window_mask(n_queries, n_keys, self.size, n_past=first, device=device) & seen
            case "prefix":
                mask = prefix_mask(n_queries, n_keys, self.size, n_past=first, device=device) & is_real
            case "block":
                mask = block_mask(n_queries, n_keys, self.size, n_past=first, device=device) & seen
            case "none":
                mask = everything
        here = [(q - first, k) for q, k in self.turned if first <= q < first + n_queries and k < n_keys]
        if here:
            turned = torch.zeros(n_queries, n_keys, dtype=torch.bool, device=device)
            turned[tuple(torch.tensor(here, device=device).T)] = True
            mask = mask ^ turned
        return mask.expand(own.shape)


@dataclass(frozen=True, kw_only=True)
class MaskChoice:
    """A user's choice: a preset, where it applies, and which cells are toggled."""

    preset: str = "own"
    size: int = 1
    attention: str  # the selected one, whose cells are toggled
    layer: int | None = None  # the only layer to change; None: all layers
    turned: tuple[MaskCell, ...] = ()

    def rule(self, attention: str, n_real: int | None = None) -> MaskRule:
        """Return the rule of an attention.

        Args:
            attention: its name.
            n_real: number of its keys that are not padding; None: all.
        """
        preset, is_selected = PRESETS[self.preset], attention == self.attention
        return MaskRule(
            kind=preset.others.get(attention, "own") if preset.others else preset.kind if is_selected else "own",
            size=self.size,
            looks_back=attention == "decoder",
            n_real=n_real,
            turned=self.turned if is_selected else (),
        )

    def interventions(self, config: ModelConfig, *, n_source: int | None, n_target: int | None) -> dict[str, MaskRule]:
        """Return the rule of each site whose mask changes.

        Args:
            config: of the model.
            n_source: tokens of the source that are not padding; None: all.
            n_target: the same of the target.
        """
        n_real = {"source": n_source, "target": n_target}
        by_site = {}
        for name, attention in attentions_of(config).items():
            rule = self.rule(name, n_real[attention.keys_from])
            if rule.kind == "own" and not rule.turned:
                continue
            layers = range(attention.n_layers(config))
            if self.layer is not None and name == self.attention:
                layers = range(self.layer, self.layer + 1)
            for layer in layers:
                by_site[ATTENTIONS[name].site(layer, "hook_mask")] = rule
        return by_site
