"""What a teacher is told that a lesson can name: all that the reader of lessons knows."""

from pages.learn.tour import lessons, writing
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.quantities import QUANTITIES
from tests.pages.learn.bare import Bare


def test_each_list_names_all_that_there_is_with_its_parts():
    lists = dict(writing._lists())
    assert [name for name, _ in lists["Figures"]] == [f"kind: {name}" for name in KINDS]
    assert [name for name, _ in lists["Mistakes"]] == [f"mistake: {name}" for name in MISTAKES]
    assert dict(lists["Pages"])["page: heads"].startswith(", ".join(lessons.linked()["heads"])[:9])
    quantities = {name for name, _ in lists["Quantities of the model"]}
    for name, quantity in QUANTITIES.items():
        assert (f"{name}[{quantity.parts}]" if quantity.parts else name) in quantities
    assert all(meaning for rows in lists.values() for _, meaning in rows)


def test_the_instructions_name_the_folder_and_show_the_example(bare: Bare):
    writing.show()
    assert str(lessons.own_folder()) in bare.words and writing.EXAMPLE in bare.words
    assert bare.words.count("<table>") == 5
