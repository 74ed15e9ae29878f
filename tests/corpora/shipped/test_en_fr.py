"""The measure of English to French."""

from transformer_core.corpora import Pair
from transformer_core.corpora.shipped.en_fr import pronoun

WIDE = "The animal didn't cross the street because it was too wide."


def test_the_pronoun_measure() -> None:
    pair = Pair(WIDE, "L'animal n'a pas traversé la rue parce qu'elle était trop large.")
    assert pronoun(pair, "L'animal a traversé le pont parce qu'elle était large.") is True
    assert pronoun(pair, pair.target.replace("elle", "il")) is False
    assert pronoun(pair, "L'animal.") is False
    assert (
        pronoun(Pair("The man slept because he was tired.", "L'homme a dormi parce qu'il était fatigué."), "") is None
    )
    assert pronoun(Pair("The dog is barking.", "Le chien aboie."), "Le chien aboie.") is None
