"""The lint of texts finds English that no catalogue can translate."""

from tests.lints.said import unsaid

UNSAID = """
st.button("Save")
prose.note(f"{n} heads")
prose.heading(title, say(LEAD), about="Press play")
prose.html("<p>{} words</p>", n)
prose.html("<p title='Every head'>{}</p>", n)
field.toggle("Dark" if is_on else say("Light"))
st.text_input(say("Text"), placeholder="Type a text")
curve(values, title="Loss")
LOOK_FOR = "At first all patterns look alike."
"""
SAID = """
st.button(say("Save"))
prose.note(say("{n} heads", n=n))
prose.html("<p class='small'>{} <code>d_model</code> = {}</p>", words, n)
curve(values, title=say(TITLE), name="x")
LOOK_FOR = mark("At first all patterns look alike.")
raise ConfigError("This file cannot be read here; choose another one")
logger.warning("The page was left before it was drawn.")
AXES = "layer head query key"
st.page_link("explore/heads/page.py", label=say("Heads"), icon=":material/grid_view:")
"""


def test_what_is_shown_as_it_is_written_is_found():
    assert {line for line, _ in unsaid(UNSAID.strip())} == {*range(1, len(UNSAID.strip().splitlines()) + 1)}
    assert not [*unsaid(SAID)]
