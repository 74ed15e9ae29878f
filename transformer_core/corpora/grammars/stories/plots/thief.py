"""Something keeps disappearing, the wrong one is suspected, and the truth comes out at night."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    disappear
    needs: begin; store f S
    gives: owns A f; stolen f; lies f S
    ends: begin
      {?A} had put {+f.many} {S}, and in the morning two of them were gone.
      {?A} kept {A.his} {+f.noun} {S}, but each morning there was one less.
      One evening {?A} put {+f.many} {S}, but in the morning only three were left.

    suspect
    needs: stolen f; owns A f
    gives: suspects A B
      "Did you take my {f.noun}?" {A} asked {A.his} {B.brother} {+B}.
      {A} was sure that {A.his} {B.brother} {+B} had eaten them.
      {A} thought it was {A.his} {B.brother} {+B} and did not speak to {B.him} all day.
      "You have eaten my {f.noun}!" {A} said to {A.his} {B.brother} {+B}.

    deny
    needs: suspects A B; stolen f; owns A f
    gives: denied B
      "It was not me," {B.said}, "but tonight we will find the thief."
      "It was not me, and I will show you," {B.said}.
      But {B} had not taken {f.them} and was sad that {A} did not believe {B.him}.
      But {B} had not done it and said that they should wait for the thief.

    keep watch
    needs: denied B; suspects A B; stolen f; owns A f; lies f S
    gives: watching A
      That night {A+B} hid behind the door and waited.
      So {A+B} sat down in the dark and watched {f.the}.
      So {A+B} stayed awake that night and waited behind the door.

    see the thief
    needs: watching A; stolen f; owns A f; steals a f; lies f S; suspects A B
    gives: thief a; seen A a
    ends: stolen f
      In the middle of the night {+a.new} came along, took one of {f.the} and ran off with it.
      Something moved, and there was {+a.new}, eating {f.the}.
      Soon {+a.new} crept in and carried one of {f.the} away.
      Then {+a.new} came in with shining eyes and ate one of {f.the}.

    say sorry
    needs: seen A a; suspects A B; thief a
    gives: sorry A B
    ends: suspects A B
      "I am sorry that I did not believe you," {A} said to {B.o}.
      {A} grew red, took {B.s} hand and said, "I was wrong."
      "So it was not you," {A} said to {B.o}, and {A.he} was very sorry.

    leave some for the thief
    needs: thief a; sorry A B; owns A f; lies f S
      From then on, {A+B} left a little bowl of {f.noun} outside for {a}.
      After that, {A} put {f.the} into a box.
      "It must be hungry," {B.said}, and so {A+B} left one of {f.the} for {a} every evening.
    """
)


def thief(plan: Plan) -> None:
    """It was not the brother."""
    a, animal = plan.hero, plan.draw("robber")
    f = plan.draw("steals", animal)
    s, b = plan.draw("store", f), plan.friend(a)
    plan.about(f, s)
    plan.do("disappear", A=a, f=f, S=s)
    plan.do("suspect", A=a, B=b, f=f)
    plan.do("deny", A=a, B=b, f=f)
    plan.do("keep watch", A=a, B=b, f=f, S=s)
    plan.do("see the thief", A=a, B=b, a=animal, f=f, S=s)
    plan.do("say sorry", A=a, B=b, a=animal)
    if plan.maybe(0.3):
        plan.do("leave some for the thief", A=a, B=b, a=animal, f=f, S=s)
