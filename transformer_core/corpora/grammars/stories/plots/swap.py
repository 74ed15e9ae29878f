"""Two children have what the other one would like."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    be tired of it
    needs: begin; swappable x
    gives: owns A x; has A x; tired A x
    ends: begin
      {?A} had {+x.new}, but {A.he} was tired of {x.them}.
      {?A} had got {+x.new} for {A.his} birthday, but {A.he} had wished for something else.
      {?A} had {+x.new} that had been on the shelf for a long time.
      For years {?A} had had {+x.new}, and {A.he} wanted something new.

    see something better
    needs: tired A x; swappable y; meeting P
    gives: owns B y; has B y; wants A y; at A P; at B P
      {P} {A} met {A.his} friend {+B}, who had {+y.new}.
      {P} {A} saw {A.his} friend {+B} with {+y.new} and wanted {y.them} at once.
      Then {A.his} friend {+B} came {P.to} with {+y.new}, and {A} could not look away.

    like the other thing
    needs: wants A y; has B y; tired A x; has A x
    gives: wants B x
      But {B} was looking at {x.the} in just the same way.
      "I would rather have {x.a}," {B.said}.
      And {B} had always wanted {x.a}.
      "I wish I had {x.a}," {B.said}.

    offer to swap
    needs: wants A y; wants B x; has A x; has B y
    gives: agreed A B
      "Shall we swap?" {A} asked, and {B} nodded.
      "I will give you my {x.noun} for your {y.noun}," {A} said to {B.o}.
      "Your {y.noun} for my {x.noun}?" {A} asked, and {B} nodded.
      {A+B} looked at each other and had the same idea.

    swap
    needs: agreed A B; has A x; has B y; wants A y; wants B x
    gives: has A y; has B x; owns A y; owns B x; swapped A B
    ends: has A x; has B y; owns A x; owns B y; wants A y; wants B x
      So {A} got {y.the}, and {B} got {x.the}.
      {A} gave {B.o} {x.the}, and {B} gave {A.o} {y.the}.
      Then {A} took {y.the}, and {B} took {x.the}.

    enjoy it
    needs: swapped A B; owns A y; owns B x
      That evening {A} {y.used}, and {B} {x.used}, and both were happy.
      {A} {y.used} until bedtime, and {B} {x.used}.
      From then on, {A} {y.used} every day.

    miss the old thing
    needs: swapped A B; owns B x
    gives: misses A x
      But a week later {A} missed {A.his} old {x.noun}.
      After some days {A} thought of {A.his} old {x.noun} again.

    share it
    needs: misses A x; owns B x; swapped A B
      "You may have {x.them} back on Sundays," {B} said and laughed.
      "Then we will share," {B.said}, and so both of them had a {y.noun} and a {x.noun}.
    """
)


def swap(plan: Plan) -> None:
    """A drum for a flute."""
    a, x, p = plan.hero, plan.draw("swappable"), plan.draw("meeting")
    b, y = plan.friend(a), plan.draw("swappable", without=(x,))
    plan.about(x, p)
    plan.do("be tired of it", A=a, x=x)
    plan.do("see something better", A=a, B=b, x=x, y=y, P=p)
    plan.do("like the other thing", A=a, B=b, x=x, y=y)
    plan.do("offer to swap", A=a, B=b, x=x, y=y)
    plan.do("swap", A=a, B=b, x=x, y=y)
    if plan.maybe(0.7):
        plan.do("enjoy it", A=a, B=b, x=x, y=y)
    else:
        plan.do("miss the old thing", A=a, B=b, x=x, y=y)
        plan.do("share it", A=a, B=b, x=x, y=y)
