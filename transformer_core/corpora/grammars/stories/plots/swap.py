"""Two children have what the other one would like."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deed

TIRE = deed(
    "be tired of it",
    needs="begin; swappable x",
    gives="owns A x; has A x; tired A x",
    ends="begin",
    says="""
    {?A} had {+x.new}, but {A.he} was tired of {x.them}.
    {?A} had got {+x.new} for {A.his} birthday, but {A.he} had wished for something else.
    {?A} had {+x.new} that had been on the shelf for a long time.
    For years {?A} had had {+x.new}, and {A.he} wanted something new.
    """,
)
SEE = deed(
    "see something better",
    needs="tired A x; swappable y; meeting P",
    gives="owns B y; has B y; wants A y; at A P; at B P",
    says="""
    {P} {A} met {A.his} friend {+B}, who had {+y.new}.
    {P} {A} saw {A.his} friend {+B} with {+y.new} and wanted {y.them} at once.
    Then {A.his} friend {+B} came {P.to} with {+y.new}, and {A} could not look away.
    """,
)
LIKE = deed(
    "like the other thing",
    needs="wants A y; has B y; tired A x; has A x",
    gives="wants B x",
    says="""
    But {B} was looking at {x.the} in just the same way.
    "I would rather have {x.a}," {B.said}.
    And {B} had always wanted {x.a}.
    "I wish I had {x.a}," {B.said}.
    """,
)
OFFER = deed(
    "offer to swap",
    needs="wants A y; wants B x; has A x; has B y",
    gives="agreed A B",
    says="""
    "Shall we swap?" {A} asked, and {B} nodded.
    "I will give you my {x.noun} for your {y.noun}," {A} said to {B.o}.
    "Your {y.noun} for my {x.noun}?" {A} asked, and {B} nodded.
    {A+B} looked at each other and had the same idea.
    """,
)
SWAP = deed(
    "swap",
    needs="agreed A B; has A x; has B y; wants A y; wants B x",
    gives="has A y; has B x; owns A y; owns B x; swapped A B",
    ends="has A x; has B y; owns A x; owns B y; wants A y; wants B x",
    says="""
    So {A} got {y.the}, and {B} got {x.the}.
    {A} gave {B.o} {x.the}, and {B} gave {A.o} {y.the}.
    Then {A} took {y.the}, and {B} took {x.the}.
    """,
)
ENJOY = deed(
    "enjoy it",
    needs="swapped A B; owns A y; owns B x",
    says="""
    That evening {A} {y.used}, and {B} {x.used}, and both were happy.
    {A} {y.used} until bedtime, and {B} {x.used}.
    From then on, {A} {y.used} every day.
    """,
)
MISS = deed(
    "miss the old thing",
    needs="swapped A B; owns B x",
    gives="misses A x",
    says="""
    But a week later {A} missed {A.his} old {x.noun}.
    After some days {A} thought of {A.his} old {x.noun} again.
    """,
)
SHARE = deed(
    "share it",
    needs="misses A x; owns B x; swapped A B",
    says="""
    "You may have {x.them} back on Sundays," {B} said and laughed.
    "Then we will share," {B.said}, and so both of them had a {y.noun} and a {x.noun}.
    """,
)
DEEDS = (TIRE, SEE, LIKE, OFFER, SWAP, ENJOY, MISS, SHARE)


def swap(plan: Plan) -> None:
    """A drum for a flute."""
    a, x, p = plan.hero, plan.draw("swappable"), plan.draw("meeting")
    b, y = plan.friend(a), plan.draw("swappable", without=(x,))
    plan.about(x, p)
    plan.do(TIRE, A=a, x=x)
    plan.do(SEE, A=a, B=b, x=x, y=y, P=p)
    plan.do(LIKE, A=a, B=b, x=x, y=y)
    plan.do(OFFER, A=a, B=b, x=x, y=y)
    plan.do(SWAP, A=a, B=b, x=x, y=y)
    if plan.maybe(0.7):
        plan.do(ENJOY, A=a, B=b, x=x, y=y)
    else:
        plan.do(MISS, A=a, B=b, x=x, y=y)
        plan.do(SHARE, A=a, B=b, x=x, y=y)
