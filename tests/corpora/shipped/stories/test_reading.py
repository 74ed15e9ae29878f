"""The reader of stories: silent about good ones, and not about damaged ones."""

import pytest

from transformer_core.corpora.shipped.stories.reading import faults
from transformer_core.corpora.shipped.stories.wording import sentences

LOST = (
    "One fine day, Mia took her red ball to the park. But when her friends called, she ran to them and left the ball "
    'behind the fence. Only at home did she notice that the ball was gone. "Have you seen my ball?" she asked her '
    'brother Ben. He went to the park, searched for a long time and found it behind the fence. "Here is your ball!" '
    'called Ben, and Mia could hardly believe it. "Thank you, Ben!" she said.'
)
SWAP = (
    "Tom had a wooden whistle, but he was tired of it. At the market he met his friend Nora, who had a red kite. And "
    'she had always wanted a whistle. "Shall we swap?" Tom asked, and she nodded. Tom gave her the whistle, and she '
    "gave him the kite. From then on, Tom flew the kite every day."
)
HUNGRY = (
    "One cold morning, Leo saw a thin cat under the old oak. He held out some nuts, but the cat did not even look. He "
    "asked his aunt for a bowl of milk and carried it to the cat. At once the cat came closer and drank everything up. "
    "The next morning it was waiting under the old oak for Leo."
)


@pytest.mark.parametrize("text", [LOST, SWAP, HUNGRY])
def test_a_good_story_has_no_faults(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "right", "wrong", "complaint"),
    [
        (LOST, "called Ben", "called Tom", "Tom was never introduced"),
        (LOST, "Thank you, Ben!", "Thank you, Mia!", "this would have to be true: helped Mia Mia"),
        (LOST, "brother Ben", "sister Ben", "'sister' does not go with Ben"),
        (LOST, "brother Ben", "brother Bob", "nobody is called Bob"),
        (LOST, "took her red", "took his red", "'his' could be nobody"),
        (LOST, "He went", "She went", "this would have to be true: knows Mia ball"),
        (LOST, "your ball", "your drum", "drum was never introduced"),
        (LOST, "found it behind the fence", "found it under the old oak", "this would have to be true: lies ball oak"),
        (LOST, "He went to the park", "He went to the lake", "this would have to be true: at A lake"),
        (LOST, "that the ball was", "that the ball were", "'were' does not go with ball"),
        (LOST, "that the ball was", "that the blue ball was", "the ball is red, not blue"),
        (LOST, "red ball", "wooden ball", "no ball is wooden"),
        (LOST, "ball?\"", "ball?", "a quotation mark has no partner"),
        (LOST, "searched", "serched", "an unknown word: 'serched'"),
        (LOST, "she said.", "she said", "it does not end with a full stop"),
        (LOST, "Only at home", "only at home", "no capital: 'only'"),
        (LOST, "and left", "and Left", "a capital within a sentence: 'Left'"),
        (LOST, "the park. But", "the park . But", "a space or a mark is out of place"),
        (LOST, "for a long time", "for a long ball", "is no sentence of a story"),
        (SWAP, "a red kite", "an red kite", "an red"),
        (SWAP, "flew the kite every", "played the whistle every", "this would have to be true: owns Tom whistle"),
        (SWAP, "Tom flew", "he flew", ""),
        (SWAP, "gave her the whistle", "gave her the kite", "kite"),
        (SWAP, "Nora, who", "Tom, who", "Tom is there already"),
        (HUNGRY, "drank", "ate", "'ate' does not go with milk"),
        (HUNGRY, "a bowl of milk", "some hay", "this would have to be true: eats cat hay"),
        (HUNGRY, "some nuts", "a little fish", "this would have to be true: refuses cat fish"),
        (HUNGRY, "his aunt", "her aunt", "'her' could be nobody"),
        (HUNGRY, "waiting under the old oak", "waiting beside the gate", "this would have to be true: rests cat gate"),
    ],
)  # fmt: skip
def test_a_fault_is_named(text: str, right: str, wrong: str, complaint: str) -> None:
    assert text.count(right) >= 1
    problems = faults(text.replace(right, wrong, 1))
    assert (not problems) if not complaint else any(complaint in fault for fault in problems), problems


def test_what_is_left_open_is_named() -> None:
    parts = sentences(LOST)
    assert faults(" ".join(parts[:4])) == ["the ball is still missing"]
    assert faults(" ".join(parts[:2])) == ["it has 2 sentences; a story has 3 to 7", "the ball is still missing"]
    assert "Nora has not got the kite" not in faults(SWAP)
    assert faults(" ".join(sentences(SWAP)[:4])) == ["Nora has not got the whistle", "Tom has not got the kite"]


def test_a_pronoun_that_could_be_two_is_named() -> None:
    two_girls = LOST.replace("brother Ben. He", "sister Anna. She").replace("Ben", "Anna")
    assert any("'She' could be Mia or Anna" in fault for fault in faults(two_girls))


def test_nothing_happens_twice() -> None:
    parts = sentences(HUNGRY)
    assert any("not happened eat" in fault for fault in faults(" ".join([*parts[:4], parts[3], parts[4]])))


def test_a_story_with_the_end_of_another_does_not_hang_together() -> None:
    mixed = " ".join(sentences(LOST)[:3] + sentences(SWAP)[3:])
    assert len(faults(mixed)) > 3


@pytest.mark.parametrize(
    "text", ["", " ", '"', "....", "Mia", "the the the.", "They and Mia ran. Her's mother!", "é\n☃ 猫。"]
)
def test_no_text_is_too_strange(text: str) -> None:
    assert faults(text) != []
