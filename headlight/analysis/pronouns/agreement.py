"""Whether the rest of a translation agrees with a pronoun that a patched head has turned."""

from dataclasses import dataclass

import numpy as np

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.pair_batch import free_translations
from headlight.analysis.pronouns.patching import FlipRates, PronounRuns
from transformer_core.instrument.intervene import intervene


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What greedy decoding writes under a patch, from the first word on."""

    head: HeadName
    rates: FlipRates  # translations that are right up to the pronoun, which is the other one
    n_gendered: int  # of these, the ones whose adjective has another form for the other gender
    agreeing: float  # share of these that have that other form, in [0, 1]
    exact: float  # of all translations, the share that is word for word the one with the other pronoun


def agreement(runs: PronounRuns, head: HeadName) -> Agreement:
    """Return what the model writes, decoding greedily, while a head is patched at the position that matters."""
    batch = runs.batch
    role = "pronoun" if head.attention == "encoder" else "prediction"
    with intervene(runs.model, runs.interventions([head], role=role)):
        written = free_translations(runs.model, batch)
    n_prefix = batch.predicts.tolist()
    is_flipped = np.array(
        [one[: n + 1] == forced[: n + 1] for one, forced, n in zip(written, batch.forced, n_prefix, strict=True)]
    )
    agreeing = []
    for row in np.flatnonzero(is_flipped):
        own, forced = batch.translations[row], batch.forced[row]
        places = [place for place in range(n_prefix[row] + 1, len(own)) if own[place] != forced[place]]
        if places:
            agreeing.append(all(written[row][place : place + 1] == (forced[place],) for place in places))
    masculine, feminine = np.split(is_flipped, 2)
    return Agreement(
        head=head,
        rates=FlipRates(float(masculine.mean()), float(feminine.mean())),
        n_gendered=len(agreeing),
        agreeing=float(np.mean(agreeing)) if agreeing else 0.0,
        exact=float(np.mean([one == other for one, other in zip(written, batch.forced, strict=True)])),
    )
