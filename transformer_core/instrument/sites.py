"""Sites: the points of a model where values can be captured or replaced, and finding them by name."""

import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from torch import nn

from transformer_core.arguments import check_kind
from transformer_core.errors import Message, SiteError
from transformer_core.hooks import HookPoint, named_hook_points


@dataclass(frozen=True, kw_only=True)
class Site:
    """A hook point, and the position in the text of the value that passes through it.

    While decoding with a cache, a forward pass reads only the new tokens: row i of the value's query axis is position
    `first + i` of the whole text. Keys always start at position 0.
    """

    name: str  # its module path, such as "decoder.blocks.0.cross_attn.hook_z"
    first: int = 0  # position of the value's first row
    n_heads: int | None = None  # query heads of its attention; None outside of attention

    @property
    def stem(self) -> str:
        """The last part of the name: "hook_z"."""
        return self.name.rpartition(".")[2]

    @property
    def has_keys(self) -> bool:
        """Whether the last axis holds the keys, as in scores, masks and patterns [batch, head, query, key]."""
        return self.stem in ("hook_attn_scores", "hook_mask", "hook_pattern")

    @property
    def is_of_memory(self) -> bool:
        """Whether the rows are positions of the source, as in cross-attention's keys and values."""
        *_, attention, part = ("", *self.name.removesuffix(".hook_normalized").split("."))
        return attention == "cross_attn" and part in ("hook_k", "hook_v", "k_norm")


_IN_LAYER = re.compile(r"(encoder|decoder)\.blocks\.(\d+)\.")
_STACKS = {"encoder": "encoder.", "decoder": "decoder.", "cross": "decoder."}  # of attentions
_PARTS = dict.fromkeys(("q", "k", "v", "mask", "attn_scores", "pattern", "z", "result", "attn_out"), "self_attn.")
_PARTS |= dict.fromkeys(("pre", "post"), "mlp.")


def site(stem: str, *, layer: int, attention: str | None = None) -> str:
    """Return the name of a site within a layer, for `capture` and `intervene`.

    >>> site("pattern", layer=0, attention="cross")
    'decoder.blocks.0.cross_attn.hook_pattern'
    >>> site("resid_post", layer=1, attention="decoder")
    'decoder.blocks.1.hook_resid_post'

    Args:
        stem: "q", "k", "v", "mask", "attn_scores", "pattern", "z", "result" or "attn_out" of an attention; "pre" or
            "post" of a feed-forward; "resid_pre", "resid_mid", "resid_mid_cross", "mlp_out" or "resid_post" of a block.
        layer: from 0.
        attention: "encoder" or "decoder", the self-attention of that stack or the stack itself; or "cross".

    Raises:
        SiteError: an attention or a layer that no model can have.
    """
    check_kind("stem", stem, str, Message("a text, such as pattern or resid_post"))
    stack, part = _stack(attention), _PARTS.get(stem, "")
    if attention == "cross":
        part = part.replace("self_attn", "cross_attn")
    return f"{stack}blocks.{_counted(layer)}.{part}hook_{stem}"


def sites(stem: str = "*", *, layer: int | None = None, attention: str | None = None) -> str:
    """Return a glob for all sites of a kind, for `capture` and `intervene`; omitted arguments match anything.

    >>> sites("pattern", attention="cross")
    'decoder.*cross_attn.hook_pattern'
    >>> sites(layer=0)
    '*blocks.0.*hook_*'

    Args:
        stem: as for `site`, or the end of another name of `site_names`, after "hook_".
        layer: from 0.
        attention: as for `site`.

    Raises:
        SiteError: as for `site`.
    """
    stack = "*" if attention is None else _stack(attention)
    place = "*" if layer is None else f"blocks.{_counted(layer)}.*"
    part = "" if attention is None or _PARTS.get(stem) != "self_attn." else "self_attn."
    if attention == "cross":
        part = "cross_attn."
    return f"{stack}{place}{part}hook_{stem}".replace("**", "*")


def _counted(layer: int) -> int:
    if not isinstance(layer, int) or isinstance(layer, bool) or layer < 0:
        raise SiteError("layer must be a whole number, counted from 0; got {layer!r}", layer=layer)
    return layer


def _stack(attention: str | None) -> str:
    if not isinstance(attention, str | None) or attention not in _STACKS:
        raise SiteError("attention must be encoder, decoder or cross; got {attention!r}", attention=attention)
    return _STACKS[attention]


def site_names(model: nn.Module) -> tuple[str, ...]:
    """Return the names of all sites of `model`, in the order in which it was built.

    Raises:
        ArgumentError: it is not a model.
    """
    return tuple(named_hook_points(model))


def matching(hook_points: Mapping[str, HookPoint], sites: Sequence[str]) -> dict[str, HookPoint]:
    """Return the hook points that match any of some names or globs ("encoder.*.hook_z").

    Raises:
        SiteError: a name or glob that matches nothing; the message names the missing stack or layer, or the nearest
            sites.
    """
    wanted: set[str] = set()
    for site in sites:
        check_kind("a site", site, str, Message('the name of one, such as tc.site("pattern", layer=0)'))
        matched = fnmatch.filter(hook_points, site)
        wanted.update(matched)
        if not matched:
            _refuse_missing_part(site, hook_points)
            nearest = _nearest(site, hook_points)
            if nearest:
                raise SiteError(
                    "the model has no site {site!r}; the nearest are {nearest}", site=site, nearest=", ".join(nearest)
                )
            raise SiteError(
                "the model has no site {site!r}; there are {n}; see site_names(model)", site=site, n=len(hook_points)
            )
    return {name: point for name, point in hook_points.items() if name in wanted}


def check_reached(sites: Sequence[str], reached: Collection[str]) -> None:
    """Check that each name or glob matches a site that a forward pass has reached.

    Raises:
        SiteError: one of them does not.
    """
    for site in sites:
        if not fnmatch.filter(reached, site):
            raise SiteError(
                "no forward pass reached {site} inside the context, so nothing was captured or changed "
                "there; run the model inside it: the same model object, in the same thread, including "
                "the part with that site",
                site=site,
            )


def _refuse_missing_part(site: str, names: Iterable[str]) -> None:
    """Raise if a site names a stack or a layer that the model does not have."""
    layers = {(match[1], int(match[2])) for name in names if (match := _IN_LAYER.match(name))}
    stacks = {stack for stack, _ in layers}
    wanted = site.partition(".")[0]
    if stacks and wanted in ("encoder", "decoder") and wanted not in stacks:
        raise SiteError("this model has no {stack}, so it has no site {site!r}", stack=wanted, site=site)
    n_layers = max((layer + 1 for stack, layer in layers if wanted not in stacks or stack == wanted), default=0)
    layer = re.search(r"(?:^|[.*])blocks\.(\d+)\.", site)
    if n_layers and layer and int(layer[1]) >= n_layers:
        raise SiteError(
            "there is no layer {layer} at {site!r}; the last layer there is {last}",
            layer=layer[1],
            site=site,
            last=n_layers - 1,
        )


def _nearest(site: str, names: Iterable[str], *, at_least: float = 0.6) -> list[str]:
    """Return up to three names similar to `site`, the nearest first; for globs, compare only parts with letters."""
    parts = [part for part in site.split(".") if part.strip("*?")]
    if not parts:
        return []

    def likeness(name: str) -> float:
        components = name.split(".")
        return sum(max(SequenceMatcher(None, part, c).ratio() for c in components) for part in parts) / len(parts)

    scores = {name: likeness(name) for name in names}
    return [name for name in sorted(scores, key=scores.__getitem__, reverse=True) if scores[name] >= at_least][:3]
