"""Something of the family is broken, the truth is told, and it is mended together."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    break with a ball
    needs: begin; fragile x; room P; family_of G A
    gives: broken x; untold A; owns G x; cause ball; at A P
    ends: begin
      {?A} was playing ball {P} when {A.he} hit {+G.s} {+x.full}, and {x.broke}.
      It was raining, so {?A} threw {A.his} ball about {P}. It knocked over {+G.s} {+x.full}, and {x.broke}.
      {?A} knew that {A.he} should not play ball {P}. Crash! Down fell {+G.s} {+x.full}, and {x.broke}.

    break with wet hands
    needs: begin; fragile x; room P; family_of G A
    gives: broken x; untold A; owns G x; cause wet; at A P
    ends: begin
      {?A} was washing the dishes {P}. {A.his} hands were wet, and {+G.s} {+x.full} fell to the floor. {x.broke}.
      {?A} was drying the dishes {P} with wet hands when {+G.s} {+x.full} fell to the floor, and {x.broke}.
      {?A} wanted to help with the dishes {P}, but {+G.s} {+x.full} slipped out of {A.his} wet hands, and {x.broke}.

    break while running
    needs: begin; fragile x; room P; family_of G A
    gives: broken x; untold A; owns G x; cause run; at A P
    ends: begin
      {?A} was running about {P} and ran into the table. {+G.s} {+x.full} fell down, and {x.broke}.
      One rainy day {?A} ran about {P} and came too near the shelf. Down came {+G.s} {+x.full}, and {x.broke}.
      {?A} ran {P.to} so fast that {+G.s} {+x.full} fell from the table, and {x.broke}.

    worry
    needs: broken x; untold A; owns G x
      {A} wanted to hide the pieces under the bed, but that was not right.
      {A} stood very still and did not know what to do.
      "What shall I do now?" {A.whispered}.
      For a moment {A} wanted to run away, but then {A.he} took a deep breath.
      First {A} wanted to say that the cat had done it, but that was not true.

    tell the truth
    needs: broken x; untold A; owns G x
    gives: told A G
    ends: untold A
      {A} went to {G.o} and told {G.him} everything.
      "I have broken your {x.noun}, and I am sorry," {A} said to {G.o}.
      When {G} came home, {A} showed {G.him} {x.the} and told {G.him} the truth.
      {A} carried the pieces to {G.o}. "It was me," {A} said.

    forgive
    needs: told A G; owns G x; broken x
    gives: forgave G A
      {G} was not angry at all.
      "Thank you for telling me," {G.said}. "Now let us mend {x.them}."
      "I am glad that you told me," {G.said} and took {A.him} by the hand.
      {G} looked at {x} and said, "I think we can mend {x.them}."

    mend together
    needs: forgave G A; broken x; owns G x
    gives: mended x
    ends: broken x
      So {A+G} sat down at the table and {x.mended}.
      {G} fetched the glue, and {A+G} {x.mended}.
      {A} held {x} with both hands while {G} {x.mended}.

    be as good as new
    needs: mended x; owns G x
      That evening {x.the} stood on the shelf again, as good as new.
      The next day {x.the} was back on the table, and nobody could see that it had been broken.

    play outside
    needs: mended x; cause ball; told A G
      From that day on, {A} played ball only in the garden.
      After that, {A} took {A.his} ball outside when {A.he} wanted to play.

    dry the hands
    needs: mended x; cause wet; told A G
      From then on, {A} always dried {A.his} hands first.
      After that, {A} never touched the dishes with wet hands again.

    run outside
    needs: mended x; cause run; told A G
      From that day on, {A} did not run in the house any more.
      After that, {A} ran about only in the garden.
    """
)


def broken(plan: Plan) -> None:
    """Something breaks by accident; who did it says so, and is forgiven."""
    a, x, g = plan.hero, plan.draw("fragile"), plan.family(plan.hero)
    accident, lesson = plan.pick(
        (
            ("break with a ball", "play outside"),
            ("break with wet hands", "dry the hands"),
            ("break while running", "run outside"),
        )
    )
    p = "kitchen" if accident == "break with wet hands" else plan.draw("room")
    plan.about(x, p)
    plan.do(accident, A=a, G=g, x=x, P=p)
    worries = plan.maybe(0.45)
    if worries:
        plan.do("worry", A=a, G=g, x=x)
    plan.do("tell the truth", A=a, G=g, x=x)
    plan.do("forgive", A=a, G=g, x=x)
    plan.do("mend together", A=a, G=g, x=x)
    if not worries or plan.maybe(0.3):
        if plan.maybe(0.5):
            plan.do("be as good as new", G=g, x=x)
        else:
            plan.do(lesson, A=a, G=g, x=x)
