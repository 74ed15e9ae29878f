"""Something of one's own comes apart, and somebody who knows the trade puts it right."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    use until it breaks
    needs: begin; fixable x; outdoors P
    gives: owns A x; has A x; broken x; at A P
    ends: begin
      toy x > {?A} was playing {P} with {A.his} {+x.full} when {x.snapped}.
      coat x > {?A} was climbing about {P} in {A.his} {+x.full} when {x.snapped}.
      coat x > {?A} went {P.to} in {A.his} {+x.full}. {A} climbed a tree, and {x.snapped}.
      cart x > {?A} was pulling {A.his} {+x.full} {P.to} when {x.snapped}.
      carried x > {?A} was on {A.his} way {P.to} with {A.his} {+x.full} when {A.he} fell over a stone, and {x.snapped}.
      carried x > One [day|morning] {?A} went {P.to} with {A.his} {+x.full}. {A} fell over a stone, and {x.snapped}.

    be sad
    needs: broken x; has A x; owns A x
      {A} sat down on the ground and almost cried.
      "What shall I do now?" {A.cried}.
      {A} tried to mend {x}, but {A.he} did not know how.
      {A} looked at {x}, and tears came to {A.his} eyes.
      It had been a present, and {A} was very sad.

    take it to be mended
    needs: broken x; has A x; mends T x
    gives: has T x; asked A T
    ends: has A x
      {A} carried {x} to {+T}. "Can you mend {x.them}?" {A} asked.
      {A} ran to the village and showed {x.the} to {+T}.
      So {A} took {x} to {+T}, who was known for {T.his} good work.
      {A.s} friends told {A.him} to go to {+T}, and so {A.he} took {x.the} there.

    mend
    needs: asked A T; has T x; broken x; owns A x
    gives: has A x; helped T A; mended x
    ends: broken x; has T x
      {T} looked at {x} from all sides, nodded and {x.fixed}.
      {T} put down {T.his} work and {x.fixed}, and it did not take long.
      "That is easy," {T.said}, took {T.his} tools and {x.fixed}.
      {T} smiled, fetched {T.his} tools and {x.fixed}.

    pay with work
    needs: helped T A; mended x; owns A x; asked A T
      {A} had no money, so {A.he} swept the workshop for {T.o}.
      To say thank you, {A} carried in firewood for {T.o}.
      {A} thanked {T.o} and came back the next day with [a cake|some pears] for {T.him}.

    be whole again
    needs: mended x; owns A x; has A x
      Now {x.the} {x.was} even stronger than before.
      {A} carried {A.his} {x.np} home, and nobody could see where {x.it} had been mended.
      And the same evening {A} was out with {x.the} again.
    """
)


def repaired(plan: Plan) -> None:
    """A wheel comes off a cart, a sleeve off a coat."""
    a, t = plan.hero, plan.draw("mender")
    x, p = plan.draw("mends", t), plan.draw("outdoors")
    plan.about(x, p)
    plan.do("use until it breaks", A=a, x=x, P=p)
    if plan.maybe(0.6):
        plan.do("be sad", A=a, x=x)
    plan.do("take it to be mended", A=a, T=t, x=x)
    plan.do("mend", A=a, T=t, x=x)
    if plan.maybe(0.6):
        plan.do("pay with work", A=a, T=t, x=x)
    else:
        plan.do("thank", A=a, B=t)
    if plan.maybe(0.7):
        plan.do("be whole again", A=a, x=x)
