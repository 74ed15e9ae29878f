"""The experiment of the last chapter: heads patched between sentences that differ in what decides il or elle."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from headlight.analysis.pronouns.patching import Agreement, agreement
from headlight.analysis.pronouns.pronoun_heads import ENOUGH, PronounHeads, pronoun_heads, pronoun_runs
from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.quantity import Part, attention_site, quantity
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.value import Axis, Result, Values, number
from transformer_core.errors import mark
from transformer_core.model.transformer import Transformer

N_PAIRS = 80  # half to search for a set, half to measure it; takes a few seconds
N_AGREEING = 40  # pairs that are decoded freely


class PronounResult(NamedTuple):
    """The results of the pronoun experiment."""

    heads: PronounHeads
    agreement: Agreement  # of the adjective, with the first head of the smallest set patched


_FOUND: WeakKeyDictionary[Transformer, PronounResult] = WeakKeyDictionary()  # by model


@quantity("flips", mark("share of held-out il/elle pairs that flip when a head is patched [layer, head]"))
def _flips(run: LessonRun, attention: Part, layer: Part | None = None, head: Part | None = None) -> Result:
    """Return the share of flips in the direction with fewer flips."""
    attention_site(run, attention, 0.0, "hook_z")  # raises where there is no such attention
    n_layers = ATTENTIONS[str(attention)].n_layers(run.model.config)
    array = np.zeros((n_layers, run.model.config.n_heads))
    for effect in _experiment(run).heads.single:
        (of_head,) = effect.heads
        if of_head.attention == attention:
            array[of_head.layer, of_head.head] = effect.rates.lower
    axes = tuple(
        Axis(name=name, size=n, labels=tuple(f"{name[0].upper()}{i}" for i in range(n)))
        for name, n in zip(("layer", "head"), array.shape, strict=True)
    )
    values = Values(array=array, axes=axes)
    values = values if layer is None else values.at("layer", layer)
    return values if head is None else values.at("head", head)


@quantity("pronouns", mark("a number of the il/elle experiment, such as pronouns[pairs] or pronouns[random]"))
def _pronouns(run: LessonRun, name: Part) -> Result:
    heads, agreement = _experiment(run)
    results = {
        "pairs": heads.n_measured,
        "right": heads.share_right,
        "all_heads": heads.everything.lower,
        "others": heads.remaining.lower,
        "random": heads.same_size,
        "random_of_others": heads.remaining_sets,
        "sufficient_heads": sum(effect.rates.lower >= ENOUGH for effect in heads.single),
        "set_size": 0 if heads.smallest is None else len(heads.smallest.heads),
        "agreement": agreement.agreeing,
        "exact": agreement.exact,
    }
    if name not in results:
        raise ExpressionError(
            "the experiment has no number “{name}”, only {there}", name=f"{name}", there=", ".join(results)
        )
    return number(results[str(name)])


def _experiment(run: LessonRun) -> PronounResult:
    """Return the result, which does not depend on the run's text."""
    model, tokenizer = run.model, run.tokenizer
    if model not in _FOUND:
        heads = pronoun_heads(model, tokenizer, n_pairs=N_PAIRS)
        first = (heads.smallest.heads if heads.smallest else heads.single[0].heads)[0]
        runs = pronoun_runs(model, tokenizer, n_pairs=N_AGREEING)
        _FOUND[model] = PronounResult(heads, agreement(runs, first))
    return _FOUND[model]
