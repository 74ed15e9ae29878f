"""The people of the tales: children by name, grown-ups of the family, people of the village."""

from transformer_core.corpora.grammars.stories.tables import Fact, Forms

GIRLS = tuple("Anna Clara Ella Grace Ida Lily Mia Nora Rosa Zoe".split())
BOYS = tuple("Ben Emil Finn Hugo Jack Leo Max Noah Sam Tom".split())
CHILDREN = GIRLS + BOYS
WOMEN_OF_THE_FAMILY = ("aunt", "grandmother", "mother")
MEN_OF_THE_FAMILY = ("father", "grandfather", "uncle")
FAMILY = WOMEN_OF_THE_FAMILY + MEN_OF_THE_FAMILY  # "her aunt", "Mia's aunt"
WOMEN_OF_THE_VILLAGE = ("baker", "carpenter", "gardener", "teacher")
MEN_OF_THE_VILLAGE = ("farmer", "miller", "smith", "tailor")
VILLAGE = WOMEN_OF_THE_VILLAGE + MEN_OF_THE_VILLAGE  # "the baker"
PEOPLE: dict[str, str] = {  # their pronoun
    **dict.fromkeys(GIRLS + WOMEN_OF_THE_FAMILY + WOMEN_OF_THE_VILLAGE, "she"),
    **dict.fromkeys(BOYS + MEN_OF_THE_FAMILY + MEN_OF_THE_VILLAGE, "he"),
}

FORMS: Forms = {
    "girl": {name: "girl" if name in GIRLS else "boy" for name in CHILDREN},
    "brother": {name: "sister" if name in GIRLS else "brother" for name in CHILDREN},
    "call": {name: name for name in CHILDREN}  # how one speaks to them
    | {"mother": "Mother", "father": "Father", "grandmother": "Grandmother", "grandfather": "Grandfather"},
}
FACTS: frozenset[Fact] = frozenset(
    {("child", who) for who in CHILDREN}
    | {("family", who) for who in FAMILY}
    | {("village", who) for who in VILLAGE}
    | {("near", who) for who in FORMS["call"]}
)
