"""The lint of escaping finds what could draw words that are not escaped, line by line."""

from tests.lints.escaping import unsafe

OPEN = """
st.warning(say('It failed.'))
remarks.info(words)
st.write(f'{name}')
st.button(example)
st.expander(say('Of {name}', name=name))
st.button(say('Open'), help=found.title)
st.pills(say('Which?'), names, format_func=lambda name: labels[name])
st.button(say(typed))
st.progress(0.5, text=say('Of {name}', name=name))
st.html('<p></p>')
st.badge(state)
place.html(f'<p>{words}</p>')
draw = st.html
import html
from streamlit import html
import streamlit
from markupsafe import Markup
prose.Markup(words)
map(prose.Markup, words)
from pages.shared.prose import markup
from pages.shared import prose as words
draw = prose.html
prose.markdown(words)
prose.html(template)
prose.html(template=words)
prose.html(f'<p>{words}</p>')
prose.markup('<p>' + words + '</p>')
prose.markup('<p>%s</p>' % words)
prose.each('<p>{}</p>'.format(words), rows)
prose.html('<p class={}></p>', words)
prose.html('<p {}></p>', words)
prose.html('<script>{}</script>', words)
prose.html('<p onclick="{}"></p>', words)
prose.say_markup(words)
"""
CLOSED = """
st.button(say(LABELS[typed]))
st.progress(0.5, text=say('Wait'))
st.pills(say('Which?'), names, format_func=lambda name: prose.plain(labels[name]))
st.expander(f'**{prose.plain(name)}**')
st.button(say('{n} more', n=n))
prose.warning(say('It failed: {error}.', error=error))
def line() -> prose.Markup | None: ...
from pages.shared.prose import TermLink
prose.html('<p class="{}">' '{:.2f}</p>', words, number)
prose.say_markup(WORDS, name=name)
"""


def test_each_open_line_is_found_and_no_safe_one():
    lines = OPEN.strip().splitlines()
    assert {line for _, line in unsafe(OPEN.strip())} == {*range(1, len(lines) + 1)}
    assert not [*unsafe(CLOSED)]
    assert [*unsafe("class Words:\n    def __html__(self): ...")] == [("__html__", 2)]
