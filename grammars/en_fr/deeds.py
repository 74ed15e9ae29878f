"""What makes sense: subjects, verbs, objects, places and reasons, in the English words of the lexicon."""

from dataclasses import dataclass

from grammars.en_fr.qualities import FITS, members


@dataclass(frozen=True)
class Reason:
    """A reason for doing something, or not: a quality of the subject or of the object."""

    verb: str
    done: bool  # False: "didn't cross ... because"
    subjects: tuple[str, ...]
    objects: tuple[str, ...]  # with at least one of the qualities
    subject_qualities: tuple[str, ...]  # with "not_": "because it was not hungry"
    object_qualities: tuple[str, ...]


def _reasons(table: str) -> tuple[Reason, ...]:
    reasons = []
    for line in table.strip().splitlines():
        verb, done, *lists = (cell.strip() for cell in line.split("|"))
        subjects, objects, subject_qualities, object_qualities = lists
        explains = tuple(object_qualities.split())
        reasons.append(
            Reason(
                verb,
                done == "yes",
                members(subjects),
                tuple(name for name in members(objects) if any(name in FITS[quality] for quality in explains)),
                tuple(subject_qualities.split()),
                explains,
            )
        )
    return tuple(reasons)


# In one row, a quality belongs to the subject or to the object, never to both, so that it determines "it". Size and age
# prevent crossing, entering, leaving, climbing or carrying; they never explain why something is eaten, drunk or bought.
REASONS = _reasons(
    """
    cross | no | all | crossable | tired weak lazy sick afraid old young small sad frightened nervous hungry thirsty \
        | wide narrow deep noisy crowded dark slippery dangerous muddy long big steep
    cross | yes | all | crossable | curious brave hungry thirsty happy frightened afraid | quiet empty beautiful pretty
    enter | no | all | enterable | frightened nervous afraid sick tired old young small big weak sad lazy \
        | dark noisy crowded dangerous muddy narrow empty
    enter | yes | all | enterable | curious brave hungry thirsty tired happy frightened sick \
        | quiet empty beautiful pretty
    leave | no | all | leavable | tired weak lazy sick happy old young small sad frightened afraid \
        | quiet beautiful pretty
    leave | yes | all | leavable | hungry thirsty nervous frightened afraid curious sad \
        | noisy crowded dark dangerous empty
    climb | no | all | climbable | tired weak lazy sick afraid old young small sad frightened nervous \
        | steep dangerous
    carry | no | bearers people | bearable | tired weak lazy sick old young small sad | heavy big dirty
    eat | no | grazers | fodder | sick sad not_hungry tired frightened nervous | hot hard old small big
    eat | no | people | food | sick sad not_hungry tired busy | hot hard cold old small big
    eat | yes | grazers | fodder | hungry happy | fresh good
    eat | yes | people | food | hungry happy | fresh good
    drink | no | animals | plain_drinks | sick sad not_thirsty tired frightened nervous | hot dirty cold old
    drink | no | people | drinks | sick sad not_thirsty tired busy | hot cold dirty old
    drink | yes | animals | plain_drinks | thirsty hungry | fresh good cold
    drink | yes | people | drinks | thirsty hungry | fresh good cold
    buy | no | people | clothes furniture house bag book | tired busy sick sad | expensive old small big long dirty
    buy | yes | people | clothes furniture house bag book | happy | beautiful pretty interesting good
    read | no | people | readable | tired busy sick sad young | boring difficult long old
    read | yes | people | readable | curious happy | interesting good beautiful
    """
)


@dataclass(frozen=True)
class Deed:
    """Subjects, a verb, and its objects or places; no objects: the verb takes none."""

    verb: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]


def _deeds(table: str) -> tuple[Deed, ...]:
    rows = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return tuple(Deed(verb, members(subjects), members(objects)) for verb, subjects, objects in rows)


DEEDS = _deeds(
    """
    cross     | all | crossable
    leave     | all | leavable
    enter     | all | enterable
    climb     | all | climbable
    carry     | bearers people | bearable
    eat       | grazers        | fodder
    eat       | people         | food
    drink     | animals        | plain_drinks
    drink     | people         | drinks
    buy       | people         | clothes furniture house bag book food milk coffee horse cow goat
    read      | people         | readable
    write     | people         | readable
    open      | people         | closable
    follow    | all | all path river road stream
    watch     | all | all
    see       | all | all buildings mountain lake bridge
    find      | people         | belongings animals
    find      | grazers        | fodder
    lose      | people         | belongings
    like      | people         | readable food drinks animals clothes
    like      | animals        | field garden park forest beach lake
    give      | people         | belongings clothes food
    go        | all | destinations
    come back | all | destinations
    stay      | animals        | garden forest field valley
    stay      | people         | garden village castle house school
    fall      | all | waters
    live      | animals        | forest valley garden field
    live      | people         | village valley castle house forest
    sleep     | all |
    run       | all |
    play      | all |
    sing      | singers people |
    bark      | dogs           |
    """
)


@dataclass(frozen=True)
class Whereabouts:
    """A preposition in both languages, and its places."""

    english: str
    french: str
    places: tuple[str, ...]


LOCATIONS = (
    Whereabouts("in", "dans", members("outdoors")),
    Whereabouts("near", "près de", members("buildings river lake bridge mountain")),
    Whereabouts("behind", "derrière", members("buildings")),
    Whereabouts("on", "sur", members("beach bridge ")),
    Whereabouts("under", "sous", members("bridge")),
)

REACTIONS = {  # state: possible reactions
    "tired": ("sleep", "stay"),
    "hungry": ("eat",),
    "thirsty": ("drink",),
    "frightened": ("run", "leave"),
    "afraid": ("run", "leave"),
    "happy": ("sing", "play"),
    "curious": ("enter",),
    "sick": ("stay", "sleep"),
}
ON_SEEING = ("run", "leave", "enter", "bark", "sing")  # reactions to seeing somebody
