"""Something keeps disappearing, the wrong one is suspected, and the truth comes out at night."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deed

VANISH = deed(
    "disappear",
    needs="begin; store f S",
    gives="owns A f; stolen f; lies f S",
    ends="begin",
    says="""
    {?A} had put {+f.many} {S}, and in the morning two of them were gone.
    {?A} kept {A.his} {+f.noun} {S}, but each morning there was one less.
    One evening {?A} put {+f.many} {S}, but in the morning only three were left.
    """,
)
SUSPECT = deed(
    "suspect",
    needs="stolen f; owns A f",
    gives="suspects A B",
    says="""
    "Did you take my {f.noun}?" {A} asked {A.his} {B.brother} {+B}.
    {A} was sure that {A.his} {B.brother} {+B} had eaten them.
    {A} thought it was {A.his} {B.brother} {+B} and did not speak to {B.him} all day.
    "You have eaten my {f.noun}!" {A} said to {A.his} {B.brother} {+B}.
    """,
)
DENY = deed(
    "deny",
    needs="suspects A B; stolen f; owns A f",
    gives="denied B",
    says="""
    "It was not me," {B.said}, "but tonight we will find the thief."
    "It was not me, and I will show you," {B.said}.
    But {B} had not taken {f.them} and was sad that {A} did not believe {B.him}.
    But {B} had not done it and said that they should wait for the thief.
    """,
)
WATCH = deed(
    "keep watch",
    needs="denied B; suspects A B; stolen f; owns A f; lies f S",
    gives="watching A",
    says="""
    That night {A+B} hid behind the door and waited.
    So {A+B} sat down in the dark and watched {f.the}.
    So {A+B} stayed awake that night and waited behind the door.
    """,
)
CATCH = deed(
    "see the thief",
    needs="watching A; stolen f; owns A f; steals a f; lies f S; suspects A B",
    gives="thief a; seen A a",
    ends="stolen f",
    says="""
    In the middle of the night {+a.new} came along, took one of {f.the} and ran off with it.
    Something moved, and there was {+a.new}, eating {f.the}.
    Soon {+a.new} crept in and carried one of {f.the} away.
    Then {+a.new} came in with shining eyes and ate one of {f.the}.
    """,
)
SORRY = deed(
    "say sorry",
    needs="seen A a; suspects A B; thief a",
    gives="sorry A B",
    ends="suspects A B",
    says="""
    "I am sorry that I did not believe you," {A} said to {B.o}.
    {A} grew red, took {B.s} hand and said, "I was wrong."
    "So it was not you," {A} said to {B.o}, and {A.he} was very sorry.
    """,
)
SHARE = deed(
    "leave some for the thief",
    needs="thief a; sorry A B; owns A f; lies f S",
    says="""
    From then on, {A+B} left a little bowl of {f.noun} outside for {a}.
    After that, {A} put {f.the} into a box.
    "It must be hungry," {B.said}, and so {A+B} left one of {f.the} for {a} every evening.
    """,
)
DEEDS = (VANISH, SUSPECT, DENY, WATCH, CATCH, SORRY, SHARE)


def thief(plan: Plan) -> None:
    """It was not the brother."""
    a, animal = plan.hero, plan.draw("robber")
    f = plan.draw("steals", animal)
    s, b = plan.draw("store", f), plan.friend(a)
    plan.about(f, s)
    plan.do(VANISH, A=a, f=f, S=s)
    plan.do(SUSPECT, A=a, B=b, f=f)
    plan.do(DENY, A=a, B=b, f=f)
    plan.do(WATCH, A=a, B=b, f=f, S=s)
    plan.do(CATCH, A=a, B=b, a=animal, f=f, S=s)
    plan.do(SORRY, A=a, B=b, a=animal)
    if plan.maybe(0.3):
        plan.do(SHARE, A=a, B=b, a=animal, f=f, S=s)
