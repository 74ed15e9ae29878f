"""A gate is left open, and an animal is led home again."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    stray
    needs: begin; farm a; family_of G A
    gives: owns G a; strayed a; left_open A
    ends: begin
      {?A} was taking care of {+G.s} {+a.full}, but {A.he} forgot to shut the gate, and in the evening {a.the} was gone.
      {?A} had left the gate open, and in the morning {+G.s} {+a.full} was gone.
      {?A} fell asleep in the grass beside the open gate, and when {A.he} woke up, {+G.s} {+a.full} was gone.

    follow the tracks
    needs: strayed a; left_open A; country P
    gives: at A P; tracks A a
      {A} followed the tracks in the [mud|snow|wet grass] {P.to}.
      {A} called and called, and at last {A.he} ran {P.to}.
      {A} looked behind the barn and on the road, and then {A.he} saw tracks that led {P.to}.

    ask somebody
    needs: tracks A a; strayed a; village T; at A P
    gives: asked A T
      There {A} met {+T}, who had just seen {a.a}.
      "Are you looking for {a.a}?" asked {+T} and showed {A.o} the way.

    find it eating
    needs: tracks A a; strayed a; at A P; spot P S
    gives: found A a
      {S} stood {a.the}, eating the grass.
      There {a.the} was, {S}, and was not sorry at all.
      And {S}, quiet and happy, stood {a.the}.

    lure it home
    needs: found A a; strayed a; eats a f; owns G a
    gives: held A
    ends: strayed a
      {a.the} did not want to move, but it came along when {A} held out {+f.new}.
      {A} pulled and pulled, but only when {A.he} held out {+f.new} did {a.the} come along.
      {A} gave {a.the} {+f.new}, and then the two of them walked home.

    lead it home
    needs: found A a; strayed a; owns G a
    gives: held A
    ends: strayed a
      {A} put a rope around its neck and led {a.the} home, step by step.
      {A} took {a.the} by the rope around its neck, and together they walked home.

    shut the gate
    needs: held A; left_open A; owns G a
    ends: left_open A
      This time {A} shut the gate and looked twice.
      After that, {A} never forgot the gate again.
      Then {A} shut the gate and told {G.o} everything.

    be glad to have it back
    needs: held A; owns G a
      {G} was glad to have {a} back and was not angry with {A.o}.
      "I thought I had lost both of you," {G} said to {A.o}.
      {G} stroked {a} and laughed.
    """
)


def strayed(plan: Plan) -> None:
    """A goat likes open gates."""
    a, animal, p = plan.hero, plan.draw("farm"), plan.draw("country")
    g = plan.family(a)
    plan.about(animal, p)
    plan.do("stray", A=a, G=g, a=animal)
    plan.do("follow the tracks", A=a, a=animal, P=p)
    if plan.maybe(0.4):
        plan.do("ask somebody", A=a, a=animal, P=p, T=plan.draw("village"))
    plan.do("find it eating", A=a, a=animal, P=p, S=plan.draw("spot", p))
    if plan.maybe(0.6):
        plan.do("lure it home", A=a, a=animal, f=plan.draw("eats", animal), G=g)
    else:
        plan.do("lead it home", A=a, a=animal, G=g)
    if plan.maybe(0.6):
        plan.do("be glad to have it back", A=a, a=animal, G=g)
    plan.do("shut the gate", A=a, a=animal, G=g)
