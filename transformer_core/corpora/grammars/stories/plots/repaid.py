"""Somebody helps an animal, and later the animal helps."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    find an animal in trouble
    needs: begin; plight a w; country P
    gives: trapped a; met A a; in_need a w; at A P
    ends: begin
      [One day|One morning|One spring day], {?A} was walking {P} and found {+a.new} {w.in}.
      {P}, {?A} heard a soft cry and found {+a.new} {w.in}.
      One day {?A} saw {+a.new} {P}. It was {w.in} and could not move.
      On the way home {?A} saw {+a.new} {P}, {w.in}.

    calm it
    needs: trapped a; met A a
      "Do not be afraid, I will help you," {A.said}.
      {A} stroked {a} until it lay still.
      {a.the} looked at {A.o} as if it wanted to cry.

    free it
    needs: trapped a; met A a; in_need a w
    gives: helped A a; free a
    ends: trapped a
      Carefully {A} {w.freed}, and {a.the} {a.left}.
      {A} {w.freed}, and at once {a.the} {a.left}.
      It took a long time, but at last {A} {w.freed}, and {a.the} {a.left}.

    lose the way
    needs: free a; helped A a; guide a; wild Q
    gives: lost A; astray A Q
      [Some days later|A week later|In autumn], {A} lost {A.his} way {Q} in thick fog.
      [Some weeks later|A month later], {A} was {Q} when it grew dark, and {A.he} could not find the way home.
      Not long after that, the snow was so deep {Q} that {A} could not see the path.

    appear
    needs: lost A; helped A a; free a
    gives: near_by a A
      Then {A} saw {a.the} again, and it looked at {A.him} as if it wanted to say, "Come with me."
      Suddenly {a.the} that {A} had helped stood before {A.him}.
      Something moved, and there was {a.the} that {A} had helped.

    lead home
    needs: lost A; near_by a A; guide a; astray A Q
    gives: helped a A
    ends: lost A
      {A} followed {a}, and it led {A.him} all the way home.
      Step by step it went ahead of {A.o}, until {A.he} could see the lights of the village.
      {a.the} went ahead and waited again and again, and so {A} came home before night.

    lose something in the water
    needs: free a; helped A a; diver a; small x; water Q
    gives: owns A x; missing x; sunk x Q; at A Q
      [Some days later|A week later], {A.s} {+x.full} fell {Q.into}.
      [In summer|Not long after that], {A} was walking {Q} when {A.his} {+x.full} fell into the water.

    fetch it from the water
    needs: missing x; sunk x Q; owns A x; diver a; helped A a; at A Q
    gives: helped a A; has A x
    ends: missing x; sunk x Q
      Then {a.the} that {A} had helped came swimming and brought {x.the} up again.
      The water was too deep for {A.o}, but {a.the} that {A} had helped came and fetched {x.the}.
      Before {A} could cry, {a.the} went down into the water and brought {A.him} {x.the}.

    have too much to carry
    needs: free a; helped A a; carrier a; load w; family_of G A
    gives: burdened A; bears A w
      [Some days later|A week later], {A} had to carry {w.new} home to {+G}, and the way was long.
      In winter {A} was carrying {w.new} to {+G}, but soon {A.his} arms were tired.

    carry it
    needs: burdened A; bears A w; carrier a; helped A a
    gives: helped a A
    ends: burdened A; bears A w
      Then {a.the} came across the field and let {A.o} put {w.the} on its back.
      But {a.the} that {A} had helped came by, and it carried {w.the} all the way home.
      On the road {A} met {a.the} again, and it carried {w.the} for {A.him}.

    thank an animal
    needs: helped a A; helped A a
      "I helped you, and now you have helped me," {A.said}.
      "Thank you, my friend," {A.said} and stroked {a}.
      {A} never forgot how {a.the} had said thank you.
      After that, {A} and {a.the} were friends.
    """
)


def repaid(plan: Plan) -> None:
    """A fox in a fence, a path in the fog."""
    a, animal = plan.hero, plan.draw("grateful")
    w, p = plan.draw("plight", animal), plan.draw("country")
    plan.about(animal, p)
    plan.do("find an animal in trouble", A=a, a=animal, w=w, P=p)
    if not plan.holds("guide", animal) and plan.maybe(0.6):
        plan.do("calm it", A=a, a=animal)
    plan.do("free it", A=a, a=animal, w=w)
    if plan.holds("guide", animal):
        q = plan.draw("wild", without=(p,))
        plan.do("lose the way", A=a, a=animal, Q=q)
        plan.do("appear", A=a, a=animal)
        plan.do("lead home", A=a, a=animal, Q=q)
    elif plan.holds("diver", animal):
        q, x = plan.draw("water", without=(p,)), plan.draw("small")
        plan.do("lose something in the water", A=a, a=animal, x=x, Q=q)
        plan.do("fetch it from the water", A=a, a=animal, x=x, Q=q)
    else:
        g, load = plan.family(a), plan.draw("load")
        plan.do("have too much to carry", A=a, a=animal, w=load, G=g)
        plan.do("carry it", A=a, a=animal, w=load)
    if len(plan.events) < 5 or plan.maybe(0.5):
        plan.do("thank an animal", A=a, a=animal)
