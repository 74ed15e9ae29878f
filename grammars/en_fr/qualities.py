"""Groups of nouns, and the qualities that fit them.

They hold in any language; English words are the keys of the lexicon.
"""

from grammars.en_fr.lexicon import ANIMALS, PEOPLE

GROUPS: dict[str, tuple[str, ...]] = {
    name: tuple(members.split())
    for name, members in {
        "animals": " ".join(ANIMALS),
        "people": " ".join(PEOPLE),
        "all": " ".join(ANIMALS | PEOPLE),
        "grazers": "horse dog cat hedgehog cow hen mouse goat goose tortoise",
        "bearers": "horse dog giraffe",
        "singers": "bird frog",
        "dogs": "dog",
        "crossable": "bridge field garden park path stream tunnel lake street road river forest square avenue valley",
        "enterable": "garden park castle tunnel village forest church house school",
        "leavable": "garden park castle village market forest beach house valley",
        "climbable": "volcano mountain",
        "destinations": "market park village castle lake beach school church river",
        "waters": "lake stream river",
        "outdoors": "garden park field forest village street castle valley",
        "buildings": "castle house school church",
        "closable": "chest box door window",
        "parts": "door window",
        "bearable": "bag basket chest table box",
        "clothes": "coat hat dress",
        "furniture": "chest table",
        "belongings": "bag basket coat hat book key letter",
        "readable": "book poem letter story",
        "fodder": "bread cheese apple carrot",
        "food": "bread cheese cake egg soup apple carrot",
        "drinks": "milk coffee water",
        "plain_drinks": "milk water",
    }.items()
}

_FITS = {  # quality: the nouns and groups that can have it
    "small": "animals boy girl clothes bearable buildings lake stream village garden cake egg apple "
    "carrot key door window",
    "big": "animals clothes bearable buildings lake forest village garden square field key door "
    "egg apple carrot cake book",
    "young": "all",
    "pretty": "clothes garden village church house beach street square valley lake",
    "good": "food book poem story milk coffee",
    "long": "street road avenue tunnel bridge path beach valley letter story poem book dress coat",
    "old": "animals man woman king queen buildings bridge village road path coat hat bag basket chest table "
    "box key door window book letter poem story bread cheese cake egg apple carrot milk",
    "new": "clothes furniture book bag basket key school house bridge road door window",
    "beautiful": "animal horse bird clothes chest table garden park forest valley beach lake river castle "
    "church house village mountain book story poem bridge square avenue",
    "black": "dog cat horse bird hen cow goat clothes bag box",
    "white": "dog cat horse bird hen cow goat goose mouse clothes bag box house door",
    "red": "clothes bag box door house apple basket",
    "green": "frog clothes bag box door apple",
    "tired": "all",
    "frightened": "all",
    "weak": "all",
    "sick": "all",
    "sad": "all story",
    "lazy": "all",
    "nervous": "all",
    "curious": "all",
    "brave": "all",
    "happy": "all",
    "busy": "people",
    "hungry": "all",
    "thirsty": "all",
    "afraid": "all",
    "wide": "bridge field stream street road river square avenue valley",
    "narrow": "bridge path tunnel",
    "deep": "waters valley",
    "steep": "path street road mountain volcano",
    "dark": "tunnel forest church house castle street garden path",
    "noisy": "park market street square avenue road village school house beach",
    "quiet": "garden park village street square forest church house beach lake valley path",
    "empty": "castle house market square street avenue park beach church school box bag basket chest",
    "crowded": "market park street square avenue beach church bridge",
    "muddy": "field path road garden stream river",
    "dangerous": "bridge tunnel street road river forest avenue lake mountain volcano path",
    "slippery": "bridge path road street square",
    "heavy": "bearable",
    "expensive": "clothes furniture house bag book",
    "dirty": "bag basket box coat hat dress street stream river water",
    "boring": "readable",
    "difficult": "book poem story letter",
    "interesting": "readable",
    "hot": "soup cake egg milk coffee water bread",
    "cold": "soup coffee water",
    "fresh": "bread cheese egg apple carrot milk water",
    "hard": "bread cheese cake apple carrot",
}


def members(text: str) -> tuple[str, ...]:
    """Return the nouns of a list of nouns and groups, each once."""
    return tuple(dict.fromkeys(noun for word in text.split() for noun in GROUPS.get(word, (word,))))


FITS = {quality: frozenset(members(nouns)) for quality, nouns in _FITS.items()}

_DIMENSIONS = {  # a noun has at most one quality of each
    "size": "small big",
    "age": "young old new",
    "beauty": "pretty beautiful good",
    "length": "long",
    "color": "black white red green",
    "mood": "tired frightened weak sick sad lazy nervous curious brave happy busy hungry thirsty afraid",
    "width": "wide narrow deep steep",
    "bustle": "noisy quiet empty crowded dark",
    "danger": "dangerous slippery muddy",
    "weight": "heavy expensive dirty",
    "content": "boring difficult interesting",
    "taste": "hot cold hard fresh",
}
DIMENSION = {quality: dimension for dimension, names in _DIMENSIONS.items() for quality in names.split()}
NEVER_GRADED = frozenset("black white red green empty".split())  # neither "too empty" nor "very green"
NEVER_TOO = frozenset("pretty good beautiful interesting fresh brave happy new quiet".split())  # only "very"
UNAPPEALING = frozenset("boring dirty muddy hard dangerous".split())  # never "a beautiful muddy path"
PASSING = frozenset({"mood", "bustle", "taste"})  # dimensions that change from day to day: "was never quiet"


def go_together(quality: str, other: str) -> bool:
    """Return True if one noun can have both qualities in a sentence."""
    if DIMENSION[quality] == DIMENSION[other]:
        return False
    dimensions, unappealing = {DIMENSION[quality], DIMENSION[other]}, {quality, other} & UNAPPEALING
    return not ("beauty" in dimensions and unappealing)
