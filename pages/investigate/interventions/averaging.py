"""What mean ablation is taken over: held-out texts of a corpus, or texts that a person types."""

from collections.abc import Callable
from pathlib import Path

from headlight.analysis.interventions.records import Ablation, Component
from pages.explore.compare import corpus_texts
from pages.investigate.interventions.data import InterventionsData
from pages.shared import forwards, models
from pages.shared.corpora import MADE_HERE
from pages.shared.models import ModelCard
from pages.shared.view.fields import Kept
from transformer_core.corpora.reading import AS_MADE
from transformer_core.language import say
from transformer_core.text.interface import Given, in_one_line, read_line

TYPED = "typed"  # among the corpora: the texts that a person types
_CORPUS = Kept("interventions-corpus", "")  # "": the first one that is offered
_TEXTS = Kept("interventions-texts", "")  # one a line; "": the usual one


def choose(data: InterventionsData, usual: Given) -> None:
    """Draw the choice of the corpus, or of the texts, of which `usual` is the first to be seen."""
    corpus = _corpus(data.card)
    _CORPUS.selectbox(say("Mean over"), _corpora(data.card), name=_in_words, shown=corpus, label_visibility="visible")
    if corpus == TYPED:
        _TEXTS.text_area(
            say("Texts, one per line"),
            shown=_TEXTS.value or in_one_line(usual),
            height=100,
            help=say("‖ separates the two texts of a pair") if data.card.takes_pairs else None,
        )


def mean(data: InterventionsData, component: Component, usual: Given) -> Ablation:
    """Return mean ablation of a component over what is chosen.

    Raises:
        HeadlightError: the corpus is not here, or is being generated; there is no text; or the model cannot read one.
    """
    corpus, card = _corpus(data.card), data.card
    if corpus == TYPED:
        written = str(_TEXTS.value).split("\n") if _TEXTS.value else [in_one_line(usual)]
        lines = filter(data.input_tokenizer("source").encode, written)
        read: Callable[[str], Given] = read_line if data.card.takes_pairs else str
        return Ablation(component=component, method="mean", texts=tuple(map(read, lines)))
    from headlight.analysis.interventions.constants import corpus_mean

    drawn = corpus_texts.of_checkpoint(card.path) if corpus == card.corpus else (0, AS_MADE)
    texts = corpus_texts.held_out(corpus, *drawn, card.config.architecture)
    model, tokenizer = data.model()
    with forwards.one_of_few(), models.on(data.source.device):
        return corpus_mean(model, tokenizer, component, texts, corpus=Path(corpus).name)


def _corpora(card: ModelCard) -> list[str]:
    """Return the corpus that a model was trained on, typed texts, and other corpora."""
    own = [card.corpus] if card.corpus else []
    return [*own, TYPED, *(corpus for corpus in MADE_HERE if corpus != card.corpus)]


def _corpus(card: ModelCard) -> str:
    """Return the chosen corpus; the first one if that is not offered here."""
    offered = _corpora(card)
    return _CORPUS.value if _CORPUS.value in offered else offered[0]


def _in_words(corpus: str) -> str:
    if corpus == TYPED:
        return say("Typed texts")
    name = say(MADE_HERE[corpus][0]) if corpus in MADE_HERE else Path(corpus).name
    return say("{corpus}, up to {n} held-out texts", n=corpus_texts.N_SAMPLED, corpus=name)
