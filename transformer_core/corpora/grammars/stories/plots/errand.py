"""A journey with something to deliver is stopped by the weather."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    set off
    needs: begin; goods x; region Q; family_of G A
    gives: has A x; on_the_way A; brings A G; lives G Q
    ends: begin
      [Early one morning|One afternoon], {?A} set off with {+x.new} for {+G}, who lived {Q}.
      One day {?A} was bringing {+x.new} to {+G}, who lived {Q}.
      {+G} lived {Q} and was ill in bed, so {?A} set off with {+x.new} for {G.him}.
      {?A} was on the way to {+G}, who lived {Q}. In {A.his} bag {A} carried {+x.new}.

    be caught by the weather
    needs: on_the_way A; weather w
    gives: now w; out A
      {A} was halfway there when {w.began}.
      On the way {w.began}, and {w.effect}.
      But then {w.began}. Soon {w.effect}.
      The sky was clear at first, but soon {w.began}.

    keep it dry
    needs: has A x; now w; out A; wet w; dryable x
      {A} put {x} under {A.his} coat to keep {x.them} dry.
      "{x.the} must not get wet," {A.thought} and put {x.them} under {A.his} coat.

    find shelter
    needs: on_the_way A; now w; shelter S; not sheltered A
    gives: sheltered A
      {A} sat down {S} and waited there until {w.ended}.
      Luckily {A} saw {S.new}, and there {A.he} waited until {w.ended}.
      {A} ran to {S.new} and stayed there until {w.ended}.

    be let in
    needs: on_the_way A; now w; village T; not sheltered A
    gives: sheltered A; helped T A
      {+T} saw {A.o} from the window and called {A.him} in, and {A} waited by the fire until {w.ended}.
      Then {A} saw a light and knocked. {+T} opened the door and let {A.him} sit by the stove until {w.ended}.

    turn back and try again
    needs: on_the_way A; now w; not sheltered A
    gives: sheltered A
      {A} had to turn back, but the next morning {w.over}, and {A.he} set off again.
      So {A} went home again, and in the morning, when {w.over}, {A.he} set off once more.

    arrive
    needs: on_the_way A; sheltered A; brings A G; lives G Q
    gives: at A Q; arrived A
    ends: on_the_way A
      Then {A} walked on, and before dark {A.he} knocked at {G.s} door.
      At last {A} reached {G.s} house, tired but happy.
      The rest of the way was easy, and soon {A} stood before {G.s} door.

    deliver
    needs: arrived A; has A x; brings A G; now w
    gives: has G x; owns G x
    ends: has A x
      "You came all this way in the {w.noun}!" {G.cried} when {A} gave {G.him} {x.the}.
      {G} was very glad when {A} took {x.the} out of {A.his} bag.
      {A} gave {x.the} to {G.o}, and {G.he} was very happy.
      edible x > {G} thanked {A.o}, and together {A+G} ate {x} at the kitchen table.
      letter x > {G} read {x} twice and had tears in {G.his} eyes.

    get warm
    needs: arrived A; owns G x; now w; brings A G
      wet w > {G} hung {A.s} wet coat beside the stove and gave {A.o} some warm tea.
      That night {A} slept at {G.s} house.
      {A} stayed until the next day, and the two of them sat by the fire.
    """
)


def errand(plan: Plan) -> None:
    """A pot of soup in the fog."""
    a, x, q = plan.hero, plan.draw("goods"), plan.draw("region")
    g, w = plan.family(a, "aunt", "grandmother", "grandfather", "uncle"), plan.draw("weather")
    plan.about(x, q)
    plan.do("set off", A=a, G=g, x=x, Q=q)
    plan.do("be caught by the weather", A=a, w=w)
    if plan.holds("wet", w) and plan.holds("dryable", x) and plan.maybe(0.3):
        plan.do("keep it dry", A=a, x=x, w=w)
    how = plan.chance(0.5, 0.3, 0.2)
    if how == 0:
        plan.do("find shelter", A=a, w=w, S=plan.draw("shelter"))
    elif how == 1:
        plan.do("be let in", A=a, w=w, T=plan.draw("village"))
    else:
        plan.do("turn back and try again", A=a, w=w)
    plan.do("arrive", A=a, G=g, Q=q)
    plan.do("deliver", A=a, G=g, x=x, w=w)
    if plan.maybe(0.15):
        plan.do("get warm", A=a, G=g, x=x, w=w)
