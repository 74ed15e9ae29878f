"""Texts of several lines in an address."""

from pages.shared.view import long_texts


def test_a_text_of_several_lines_keeps_them_and_each_is_cleaned():
    text = "a  =\tb\n\n# c\x00d\r\n"
    assert long_texts.asked("source", {"source": text}, has_lines=True) == "a = b\n\n# c d\n"
    assert long_texts.asked("source", {"packed-source": long_texts.packed(text)}, has_lines=True) == "a = b\n\n# c d\n"
    assert long_texts.asked("source", {"source": "\n" * 40_000}, has_lines=True) == "\n" * long_texts.MAX_CHARACTERS
    assert long_texts.asked("source", {"source": "\n"}, has_lines=True) == "\n"  # lines that are empty, not none
    assert long_texts.asked("source", {"source": text}) == "a = b # c d"
