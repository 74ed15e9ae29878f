"""What a person reads of each example program, and an input that shows what it does."""

from dataclasses import dataclass

from transformer_core.errors import mark


@dataclass(frozen=True, kw_only=True)
class Example:
    """An example program as the page offers it."""

    title: str  # marked
    about: str  # marked: what its output is at each token
    tokens: str  # an input


EXAMPLES = {  # by the names of `tc.programs.EXAMPLES`
    "reverse": Example(
        title=mark("Reverse"),
        about=mark("Each token is replaced by the one at the opposite position."),
        tokens="a b c d e",
    ),
    "sort": Example(
        title=mark("Sort"),
        about=mark("The tokens in alphabetical order; equal tokens keep their order."),
        tokens="d a c a b",
    ),
    "sort_unique": Example(
        title=mark("Sort distinct tokens"),
        about=mark("The tokens in alphabetical order, where no token occurs twice."),
        tokens="e a h c b",
    ),
    "histogram": Example(
        title=mark("Histogram"), about=mark("How often each token occurs in the input."), tokens="a b a c a b"
    ),
    "double_histogram": Example(
        title=mark("Double histogram"),
        about=mark("How many different tokens occur as often as this one."),
        tokens="a b a c b d d e",
    ),
    "most_frequent": Example(
        title=mark("Most frequent token"),
        about=mark("The token that occurs most often; ties go to the last in alphabetical order."),
        tokens="b a c b a b",
    ),
    "shift": Example(title=mark("Shift by one"), about=mark("The previous token."), tokens="a b c d e"),
    "rotate": Example(
        title=mark("Rotate"), about=mark("The next token; at the last one, the first."), tokens="a b c d e"
    ),
    "fraction_previous": Example(
        title=mark("Fraction so far"),
        about=mark("The fraction of “a” among the tokens up to here."),
        tokens="a b a a c b",
    ),
    "majority": Example(
        title=mark("Majority"), about=mark("Whether more than half of the tokens are “a”."), tokens="a b a a b"
    ),
    "induction": Example(
        title=mark("Induction"),
        about=mark("The token that followed the same token before; “?” where it is new."),
        tokens="c a d b c a d b",
    ),
    "first_occurrence": Example(
        title=mark("First occurrence"), about=mark("Whether the token is new or was seen before."), tokens="a b a c b a"
    ),
    "distinct": Example(
        title=mark("Distinct tokens"),
        about=mark("How many different tokens there are up to here."),
        tokens="a b a c b d",
    ),
    "parity": Example(
        title=mark("Parity"),
        about=mark("Whether the number of ones up to here is even (0) or odd (1)."),
        tokens="1 0 1 1 0 1",
    ),
    "dyck_1": Example(
        title=mark("Balanced brackets"),
        about=mark("Whether the brackets up to here are balanced, still open, or cannot be balanced any more."),
        tokens="( ( ) ) ) (",
    ),
    "shuffle_dyck_2": Example(
        title=mark("Two kinds of brackets"),
        about=mark("The same for two kinds of brackets that need not be nested."),
        tokens="( [ ) ] ] (",
    ),
    "palindrome": Example(
        title=mark("Palindrome"),
        about=mark("Whether the input reads the same from both ends."),
        tokens="a b c b a",
    ),
    "addition": Example(
        title=mark("Addition"),
        about=mark("The sum of two numbers of equal length, the ones first: 25 + 17 is written 5 2 + 7 1."),
        tokens="5 2 + 7 1",
    ),
}
