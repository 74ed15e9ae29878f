"""Interventions: replace activations of a model within a context."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from transformer_core.arguments import check_kind, wrong_kind
from transformer_core.errors import InterventionError, Message
from transformer_core.hooks import Handler, HookPoint, active_hooks, named_hook_points, position_offset, uncompiled
from transformer_core.instrument.selection import Edit
from transformer_core.instrument.sites import Site, check_reached, matching

Intervention = Callable[[Tensor, Site], Tensor]
"""Takes the value at a site and the site, and returns the value with which the model continues."""


@contextmanager
def intervene(
    model: nn.Module,
    interventions: Mapping[str, Intervention | Sequence[Intervention]],
    *,
    is_checked: bool = True,
) -> Iterator[None]:
    """Replace the values at some sites of `model` within a context.

    The model itself is not changed: other threads that use it at the same time are not affected, and after the context
    it computes the same bits as before.

    >>> with intervene(model, {"decoder.blocks.0.cross_attn.hook_z": zero_heads([1])}):
    ...     logits = model(src, tgt)
    >>> with intervene(model, {"*.hook_resid_post": lambda value, site: value * 0.9}):
    ...     decoding = greedy_decode(model, src)

    Interventions compose: at one site, those of an outer context act before those of an inner one, and within one
    context in the given order. A capture inside an intervention keeps its output; one around it keeps its input, and
    its effects on all later sites.

    While decoding with a cache, each forward pass contains only the new positions, from `site.first` on; ready-made
    interventions refer to positions of the whole text.

    Args:
        model: to intervene on.
        interventions: by a site's name or a glob: one function (value, site) -> value, or a sequence of them. A
            function may modify its value, which is a copy, and must return one of the same shape, type and device; at
            `hook_mask`, [batch, 1, query, key], it may also return one mask per head.
        is_checked: False: do not check on leaving, because the text may end early or be empty.

    Raises:
        SiteError: on entering: a name or glob that matches no site; the message names the nearest ones. On leaving:
            one whose sites no forward pass has reached.
        InterventionError: from the forward pass: an intervention does not fit its site, or returns an invalid value.
            On leaving: a ready-made one refers to a position that the text does not have (checked only after a single
            forward pass, because a generated text may end early).
    """
    check_kind("interventions", interventions, Mapping, Message("a mapping of sites to functions"))
    model = uncompiled(model)
    hook_points = named_hook_points(model)
    chains: dict[str, list[Intervention]] = {}
    for pattern, chosen in interventions.items():
        for name in matching(hook_points, [pattern]):
            chains.setdefault(name, []).extend(_chain(chosen))
    lengths: dict[str, list[tuple[int, int]]] = {}
    handlers: dict[HookPoint, Handler] = {}
    for name, chain in chains.items():
        attention = model.get_submodule(name.rpartition(".")[0])
        handlers[hook_points[name]] = _acting(name, chain, getattr(attention, "n_heads", None), lengths)
    with active_hooks(handlers):
        yield
    if not is_checked:
        return
    check_reached([*interventions], lengths)
    for name, of_forwards in lengths.items():
        if len(of_forwards) == 1:
            _check_reached(name, chains[name], *of_forwards[0])


def _chain(chosen: Intervention | Sequence[Intervention]) -> Sequence[Intervention]:
    """Return the interventions at one site as a sequence of functions."""
    chain = chosen if isinstance(chosen, Sequence) else [chosen]
    for intervention in chain:
        if not callable(intervention):
            raise wrong_kind("an intervention", intervention, Message("a function (value, site) -> value"))
    return chain


def _acting(
    name: str, chain: Sequence[Intervention], n_heads: int | None, lengths: dict[str, list[tuple[int, int]]]
) -> Handler:
    """Return the handler of one site; it also records the number of positions and keys in each forward pass."""
    of_memory = Site(name=name).is_of_memory

    def act(value: Tensor) -> Tensor:
        site = Site(name=name, first=0 if of_memory else position_offset(), n_heads=n_heads)
        value = apply_interventions(value, site, chain)
        lengths.setdefault(name, []).append((site.first + value.shape[-2], value.shape[-1]))
        return value

    return act


def apply_interventions(value: Tensor, site: Site, chain: Sequence[Intervention]) -> Tensor:
    """Apply several interventions to the value at a site, in order.

    Raises:
        InterventionError: one of them does not fit the site, or returns an invalid value.
    """
    for intervention in chain:
        edited = value if isinstance(intervention, Edit) else value.clone()
        value = _checked(intervention(edited, site), value, site)
    return value


def _checked(returned: object, value: Tensor, site: Site) -> Tensor:
    """Return the output of an intervention after checking that the model can continue with it."""
    if not isinstance(returned, Tensor):
        raise InterventionError(
            "the intervention at {site} returned {kind}; it must return a tensor, even if it "
            "modified its input in place",
            site=site.name,
            kind=type(returned).__name__,
        )
    allowed = [value.shape]
    if site.stem == "hook_mask" and site.n_heads is not None:
        allowed.append(torch.Size([value.shape[0], site.n_heads, *value.shape[2:]]))
    if returned.shape not in allowed or returned.dtype != value.dtype or returned.device != value.device:
        raise InterventionError(
            "the intervention at {site} returned {returned}; expected {given}, like its input",
            site=site.name,
            returned=_described(returned),
            given=_described(value),
        )
    return returned


def _described(x: Tensor) -> Message:
    return Message(
        "{dtype} {shape} on {device}",
        dtype=str(x.dtype).removeprefix("torch."),
        shape=tuple(x.shape),
        device=x.device,
    )


def _check_reached(name: str, chain: Sequence[Intervention], n_positions: int, n_keys: int) -> None:
    """Check that the text had every position to which a ready-made intervention refers."""
    for intervention in chain:
        missed = intervention.selection.missed(n_positions, n_keys) if isinstance(intervention, Edit) else None
        if missed is not None:
            what, index, n = missed
            raise InterventionError(
                "the intervention at {name} refers to {what} {index}, but there were only {n}, counted "
                "from 0; nothing was changed there",
                name=name,
                what=what,
                index=index,
                n=n,
            )
