"""A seed is planted, and patience is rewarded."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    plant
    needs: begin; plant x; bed S
    gives: growing x; sown A x; grows x S
    ends: begin
      [One spring morning|In spring], {?A} planted {+x.seed} {S}.
      {?A} had found {+x.seed} in an old box and planted {x.them} {S}.
      {+G} gave {?A.o} {+x.seed}, and {A} planted {x.them} {S}.
      {?A} dug a hole {S} and put {+x.seed} into it.

    water in vain
    needs: growing x; sown A x; grows x S
    gives: watered x
      {A} carried water there every [morning|evening], but for weeks there was nothing to see.
      Every day {A} carried water there, but nothing came up.
      Day after day {A} looked, but the ground stayed brown.

    doubt
    needs: growing x; watered x; sown A x
    gives: doubted A
      "Nothing will ever grow here," {A} said to {?G.o}.
      "I think the birds have eaten everything," {A} told {?G.o}.
      {A} did not want to wait any more, and {A.he} told {?G.o} so.

    give advice
    needs: doubted A; growing x; family_of G A
    gives: advised G A
      "The best things take time," {G.said}.
      {G} smiled and said, "Give it one more week."
      "Wait a little longer," {G.said} and smiled.

    come up
    needs: growing x; watered x; sown A x
    gives: sprouted x
      And then, after a warm rain, there was something green.
      One morning two small green leaves stood there in the sun.
      A few days later the first green leaf came out of the ground.

    carry water in the heat
    needs: growing x; watered x; sown A x; sprouted x
      Then it did not rain for a month, and {A} carried water until {A.his} arms were tired.
      In summer {A} got up early every day to water {x.the}.

    build a fence
    needs: growing x; watered x; sown A x; sprouted x
      When the hens came too near, {A} built a little fence around {x.the}.
      To keep the birds away, {A} built a fence around {x.the} and watched every day.

    cover against the frost
    needs: growing x; watered x; sown A x; sprouted x
      When the nights grew cold again, {A} covered {x.the} with an old blanket.
      One night it snowed, but {A} had covered {x.the} with hay.

    grow up
    needs: growing x; sprouted x; sown A x; grows x S
    gives: ripe x
    ends: growing x
      sunflower x > By the end of summer {x.the} was taller than {A.o}.
      sunflower x > In summer {x.the} looked over the roof of the shed.
      pumpkin x > In autumn {x.the} was so big that {A} could not carry it.
      pumpkin x > {x.the} grew and grew, until it was as big as a wheel.
      beans x > Soon {x.the} climbed higher than the door, and {A} picked a whole basket of them.
      tomatoes x > In summer {x.the} were red and round, and {A} picked a whole basket of them.
      cabbages x > In autumn {x.the} were so big that {A} needed both arms to carry one.

    enjoy the harvest
    needs: ripe x; sown A x
      sunflower x > In winter {A} gave its seeds to the birds, but kept one for the next spring.
      sunflower x > {A} was so proud that {A.he} showed it to everybody.
      pumpkin x > {A} made soup of {x.the}, and there was enough for the whole village.
      food x > {A} made a big pot of soup, and {?G} ate three bowls of it.
      food x > {A} brought the first of them to {?G.o}.

    have been right
    needs: ripe x; advised G A; sown A x
      "You were right," {A} said to {G.o}.
      "I am glad that I waited," {A} said to {G.o}.
    """
)


def seed(plan: Plan) -> None:
    """A sunflower behind the house."""
    a, x = plan.hero, plan.draw("plant")
    s, g = plan.draw("bed"), plan.family(a)
    plan.about(x, s)
    plan.do("plant", A=a, x=x, S=s, **({"G": g} if plan.maybe(0.5) else {}))
    plan.do("water in vain", A=a, x=x, S=s)
    doubts = plan.maybe(0.5)
    if doubts:
        plan.do("doubt", A=a, x=x, G=g)
        plan.do("give advice", A=a, x=x, G=g)
    plan.do("come up", A=a, x=x)
    if not doubts:
        plan.do(plan.pick(("carry water in the heat", "build a fence", "cover against the frost")), A=a, x=x)
    plan.do("grow up", A=a, x=x, S=s)
    plan.do("have been right" if doubts and plan.maybe(0.6) else "enjoy the harvest", A=a, x=x, G=g)
