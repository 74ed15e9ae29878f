"""What defines the view of the Programs page: the program, its input, the chosen line, and a mistake in it."""

from pages.learn.programs.examples import EXAMPLES
from pages.shared.view.fields import Field, TextField, number, one_of, text_up_to, written

PAGE = "programs"
ALL, EARLIER = "all", "earlier"  # tokens that a query may attend to
PROGRAM = Field(PAGE, "program", "reverse", one_of(*EXAMPLES))  # that it begins with
SOURCE = TextField(PAGE, "source")  # its lines; "": those of the example
ATTENDS = Field(PAGE, "attends", "", one_of("", ALL, EARLIER))  # "": as in the example
VOCABULARY = Field(PAGE, "vocabulary", "", text_up_to(1000))  # "": that of the example
INPUT = TextField(PAGE, "input")  # "": that of the example
LINE = Field(PAGE, "line", 0, number)  # 0: the last one
MISTAKE = Field(PAGE, "mistake", "", text_up_to(400))  # the replacement of the line; "": the line itself
FIELDS: tuple[Field, ...] = (PROGRAM, SOURCE, ATTENDS, VOCABULARY, INPUT, LINE, MISTAKE)


def in_words() -> dict[str, str]:
    """Return the view in the words of the URL: what is not as usual, and the program that it begins with."""
    return {PROGRAM.name: PROGRAM.value} | written(FIELDS)


def choose_program(name: str) -> None:
    """Begin with another example."""
    for field in FIELDS:
        field.set(field.usual)
    PROGRAM.set(name)


def write_program(source: str) -> None:
    """Take another program, as a person wrote it, be it empty."""
    SOURCE.set("\n".join(source.strip().splitlines()) or "\n")
    choose_line(0)


def choose_line(number: int) -> None:
    """Look at another line; the mistake in the one before goes."""
    LINE.set(number)
    MISTAKE.set("")
