"""The example programs, and what defines the view of the page: the program, its input, a line, a mistake in it."""

from dataclasses import dataclass

from pages.shared.view.fields import Field, TextField, number, one_of, text_up_to, written
from transformer_core.errors import mark


@dataclass(frozen=True, kw_only=True)
class Example:
    """An example program as the page offers it."""

    title: str  # marked
    about: str  # marked: the meaning of its output at each token
    inputs: tuple[str, ...]  # the second has as many tokens as the first
    equivalents: tuple[str, ...] = ()  # lines with a mistake that computes the same, on any input


_OPPOSITE_KEYS = "reversed = aggregate(select(opposite, indices, lambda key, query: key == query), tokens)"
EXAMPLES = {  # by the names of `hl.programs.EXAMPLES`
    "reverse": Example(
        title=mark("Reverse"),
        about=mark("Each token is replaced by the one at the opposite position."),
        inputs=("a b c d e", "e a c b d", "d d a", "b c e a"),
        equivalents=(_OPPOSITE_KEYS,),
    ),
    "sort": Example(
        title=mark("Sort"),
        about=mark("The tokens in alphabetical order; equal tokens keep their order."),
        inputs=("d a c a b", "b c a d c", "e d c b a", "c a b"),
    ),
    "sort_unique": Example(
        title=mark("Sort distinct tokens"),
        about=mark("The tokens in alphabetical order, where no token occurs twice."),
        inputs=("e a h c b", "h b d a g", "c b a", "f g h e d c"),
    ),
    "histogram": Example(
        title=mark("Histogram"),
        about=mark("How often each token occurs in the input."),
        inputs=("a b a c a b", "b b c a c c", "a a a", "d a d c"),
    ),
    "double_histogram": Example(
        title=mark("Double histogram"),
        about=mark("How many different tokens occur as often as this one."),
        inputs=("a b a c b d d e", "c c a a d e b b", "a b c", "d d a"),
    ),
    "most_frequent": Example(
        title=mark("Most frequent token"),
        about=mark("The token that occurs most often; ties go to the last in alphabetical order."),
        inputs=("b a c b a b", "c c a b c a", "d e d", "a b b a"),
    ),
    "shift": Example(
        title=mark("Shift by one"),
        about=mark("The previous token."),
        inputs=("a b c d e", "d b e a c", "c c a", "e d c b"),
    ),
    "rotate": Example(
        title=mark("Rotate"),
        about=mark("The next token; at the last one, the first."),
        inputs=("a b c d e", "d b e a c", "c c a", "e d c b"),
    ),
    "fraction_previous": Example(
        title=mark("Fraction so far"),
        about=mark("The fraction of “a” among the tokens up to here."),
        inputs=("a b a a c b", "b b a c a a", "a a a", "c a b a"),
    ),
    "majority": Example(
        title=mark("Majority"),
        about=mark("Whether more than half of the tokens up to here are “a”."),
        inputs=("b a a b a", "b b a b a", "a a b", "b a b b a a"),
    ),
    "induction": Example(
        title=mark("Induction"),
        about=mark("The token that followed the same token before; “?” where it is new."),
        inputs=("c a d b c a d b", "b e a c b e a c", "a b a b a b", "d c e d c"),
    ),
    "first_occurrence": Example(
        title=mark("First occurrence"),
        about=mark("Whether the token is new or was seen before."),
        inputs=("a b a c b a", "c c a b b d", "a a a", "e d e d"),
    ),
    "distinct": Example(
        title=mark("Distinct tokens"),
        about=mark("How many different tokens there are up to here."),
        inputs=("a b a c b d", "c c a b b e", "a a a", "e d c b"),
    ),
    "parity": Example(
        title=mark("Parity"),
        about=mark("Whether the number of ones up to here is even (0) or odd (1)."),
        inputs=("1 0 1 1 0 1", "0 1 1 0 0 1", "1 1 1", "0 0 1 0"),
    ),
    "dyck_1": Example(
        title=mark("Balanced brackets"),
        about=mark("Whether the brackets up to here are balanced, still open, or cannot be balanced any more."),
        inputs=("( ( ) ) ) (", "( ) ( ( ) )", "( ) ) (", "( ( ( ) ) )"),
    ),
    "shuffle_dyck_2": Example(
        title=mark("Two kinds of brackets"),
        about=mark("The same for two kinds of brackets that need not be nested."),
        inputs=("( [ ) ] ] (", "[ ( ] ) ( [", "( [ ) ]", "[ ] ] ("),
    ),
    "palindrome": Example(
        title=mark("Palindrome"),
        about=mark("Whether the input reads the same from both ends."),
        inputs=("a b c b a", "a b c a b", "d e e d", "c a d c"),
        equivalents=(_OPPOSITE_KEYS,),
    ),
    "addition": Example(
        title=mark("Addition"),
        about=mark("The sum of two numbers of equal length, lowest digit first: 25 + 17 is written 5 2 + 7 1."),
        inputs=("5 2 4 + 5 7 3", "3 4 8 + 4 8 1", "9 + 8", "1 2 0 + 9 9 1"),
    ),
}

PAGE = "programs"
ALL, EARLIER = "all", "earlier"  # tokens that a query may attend to
PROGRAM = Field(PAGE, "program", "reverse", one_of(*EXAMPLES))  # the example that it starts from
SOURCE = TextField(PAGE, "source")  # its lines; "": those of the example
ATTENDS = Field(PAGE, "attends", "", one_of("", ALL, EARLIER))  # "": as in the example
VOCABULARY = Field(PAGE, "vocabulary", "", text_up_to(1000))  # "": that of the example
INPUT = TextField(PAGE, "input")  # "": that of the example
LINE = Field(PAGE, "line", 0, number)  # 0: the last one
MISTAKE = Field(PAGE, "mistake", "", text_up_to(400))  # the replacement of the line; "": the line itself
FIELDS: tuple[Field, ...] = (PROGRAM, SOURCE, ATTENDS, VOCABULARY, INPUT, LINE, MISTAKE)


def in_words() -> dict[str, str]:
    """Return the view as query parameters: all values that are not the default, and always the example."""
    return {PROGRAM.name: PROGRAM.value} | written(FIELDS)


def choose_program(name: str) -> None:
    """Open another example and reset all other fields."""
    for field in FIELDS:
        field.set(field.usual)
    PROGRAM.set(name)


def write_program(source: str) -> None:
    """Set the source of the program that a person wrote, which may be empty."""
    SOURCE.set("\n".join(source.strip().splitlines()) or "\n")
    choose_line(0)


def choose_line(number: int) -> None:
    """Select another line, and discard the mistake in the previous one."""
    LINE.set(number)
    MISTAKE.set("")
