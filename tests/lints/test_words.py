"""The lint of words finds odd phrases and names of data, and leaves good English alone."""

from tests.lints.words import PHRASES, odd_names, odd_phrases

ODD = (
    "Return what a box is called.\nYield what comes next.\n# The rate is told, which is said and is asked for.\n"
    "The text stays as it stands, the order\nas it is. The head that is looked at; who asks waits.\nA run goes on.\n"
    "At most so many tokens, behind the last one. The right answer, on the page Heads.\nA folder of its own; each by "
    "itself: what stands there, and it is no text.\nLayers hand on vectors, drawn anew, for want of\n    # memory."
)
GOOD = (
    "Return the name of a box.\nThe axes on the right, or right of them: right_edge.\n"
    "It can be told apart from others.\n# Asked for a page behind a proxy, it is asked to wait.\nNothing is left "
    "behind. There is no text that is no longer shown.\nright when: argmax(probs) == right translation\n"
    "The note goes on top. The Heads page."
)
CODE = """
found = 1
def f(told: int, given: int) -> None:
    self.said = [made for made in told]
class C:
    asked: bool
"""


def test_each_rule_finds_its_phrase_also_across_lines():
    assert {phrase for _, _, phrase in odd_phrases(ODD)} == {*PHRASES}
    assert max(line for line, _, _ in odd_phrases(ODD)) == ODD.count("\n")
    assert not [*odd_phrases(GOOD)]


def test_names_of_data_are_found_where_they_are_assigned():
    assert sorted(odd_names(CODE, True)) == [(2, "found"), (3, "told"), (4, "made"), (4, "said"), (6, "asked")]
    assert [*odd_names("const found = 1;\nlet matches = made;\n", False)] == [(1, "found")]
