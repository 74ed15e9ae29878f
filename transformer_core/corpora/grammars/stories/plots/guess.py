"""A noise in the night is taken for something terrible, and is something small."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    hear a noise
    needs: begin; noise n; dim P
    gives: heard A n; afraid A; sounds n P
    ends: begin
      [One night|One stormy night|Late one evening], {?A} heard {n.new} {P}.
      {?A} was already in bed when {A.he} heard {n.new} {P}.
      In the middle of the night {?A} woke up, for there was {n.new} {P}.
      It was dark, and {?A} could not sleep. Then {A} heard {n.new} {P}.

    guess wrongly
    needs: afraid A; terror w; heard A n
    gives: guessed A w
      "That must be {w.new}," {A.thought} and pulled the blanket over {A.his} head.
      {A.s} heart beat fast. What if it was {w.new}?
      {A} was sure that it was {w.new}.
      "It sounds like {w.new}," {A.whispered}.

    wake somebody
    needs: afraid A; guessed A w
    gives: awake B A
      {A} woke {A.his} {B.brother} {+B}. "There is {w.new} {P}!" {A} whispered.
      {A} ran to {A.his} {B.brother} {+B} and whispered, "Did you hear {w.the}?"
      {A} woke {A.his} {B.brother} {+B} and told {B.him} about {w.the}.
      {A.s} {B.brother} {+B} was awake too and had also heard {w.the}.

    go and look together
    needs: awake B A; heard A n; sounds n P
    gives: at A P; at B P; light P
      {A+B} took a lantern and went {P.to}.
      {B} lit a lantern, and hand in hand {A+B} went {P.to}.
      "Let us see," {B.said}, and with a lantern {A+B} crept {P.to}.

    go and look alone
    needs: afraid A; guessed A w; heard A n; sounds n P
    gives: at A P; light P
      But {A} was brave. {A} took a lantern and went {P.to}.
      At last {A} lit a lantern and went {P.to}, step by step.
      {A} took a deep breath, lit a lantern and crept {P.to}.

    see what it was
    needs: afraid A; at A P; light P; sounds n P; makes a n; haunts a P; corner P S; guessed A w
    gives: seen A a; rests a S
    ends: afraid A
      There was no {w.noun} at all, for {S} sat {+a.new}.
      But {S} there was only {+a.new}.
      The light fell on {+a.new} that sat {S}.
      And what did {A} see {S}? Only {+a.new}!

    laugh
    needs: seen A a; guessed A w; not laughed A
    gives: laughed A
      "What a small {w.noun} you are!" {A.said} and laughed.
      {A} laughed so much that {a} ran away.
      "So you are {w.the}!" {A} said to {a}.

    laugh together
    needs: seen A a; guessed A w; awake B A; not laughed A
    gives: laughed A
      {A+B} looked at each other and laughed out loud.
      "Good night, {w.noun}," {B.said}, and {A+B} both laughed.
      "What a small {w.noun}," {B.said}, and {A} had to laugh.

    go back to bed
    needs: seen A a; laughed A
      Then {A} went back to bed and slept until morning.
      After that, {A} was not afraid in the dark any more.
      {A} crept back into {A.his} warm bed and fell asleep at once.
      Then {A} opened the door for {a}, and the house was quiet again.
    """
)


def guess(plan: Plan) -> None:
    """It is not a bear."""
    a, animal, w = plan.hero, plan.draw("night"), plan.draw("terror")
    p, n = plan.draw("haunts", animal), plan.draw("makes", animal)
    s = plan.draw("corner", p)
    plan.about(animal, p)
    plan.do("hear a noise", A=a, n=n, P=p)
    plan.do("guess wrongly", A=a, w=w, n=n)
    if plan.maybe(0.6):
        b = plan.friend(a)
        plan.do("wake somebody", A=a, B=b, w=w, P=p)
        plan.do("go and look together", A=a, B=b, n=n, P=p)
        plan.do("see what it was", A=a, a=animal, n=n, P=p, S=s, w=w)
        plan.do("laugh together", A=a, B=b, a=animal, w=w)
    else:
        plan.do("go and look alone", A=a, n=n, P=p, w=w)
        plan.do("see what it was", A=a, a=animal, n=n, P=p, S=s, w=w)
        plan.do("laugh", A=a, a=animal, w=w)
    if len(plan.events) < 6 or plan.maybe(0.5):
        plan.do("go back to bed", A=a, a=animal)
