"""A hungry animal is given what it likes, and does not forget it."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    meet a hungry animal
    needs: begin; eater a; visits a P; spot P S
    gives: hungry a; met A a; rests a S; at A P
    ends: begin
      [One cold morning|On the way home from school|One evening], {?A} saw {+a.new} {S}.
      {?A} was walking {P} when {A.he} found {+a.new} {S}.
      One day something moved {S} when {?A} came by, and it was {+a.new}.
      {?A} was playing {P}. {S} sat {+a.new} and looked at {A.him}.
      [One winter day|One rainy day], {?A} found {+a.new} sitting {S}.

    be hungry
    needs: hungry a; met A a
      It was so hungry that it could hardly stand.
      It had not eaten for days.
      {a.the} was cold and hungry, and nobody took care of it.
      "You look hungry," {A.said}.

    offer the wrong food
    needs: hungry a; met A a; refuses a g
      {A} gave {a} {+g.new}, but {a.the} only sniffed and turned away.
      {A} had only {+g.new} in {A.his} bag, and that is not what {a.a} likes.
      {A} held out {+g.new}, but {a.the} did not even look.

    fetch the right food
    needs: hungry a; met A a; eats a f
    gives: has A f
      {A} ran home and came back with {+f.new}.
      {A} asked {+G.o} for {+f.new} and carried {f.them} to {a.the}.
      Then {A} remembered what {a.a} likes best, ran home and fetched {+f.new}.
      keeps T f > {A} went to {+T} and asked for {+f.new}.

    eat
    needs: hungry a; has A f; eats a f
    gives: fed A a; ate a f
    ends: hungry a; has A f
      Now {a} {f.ate} and {f.ate} until nothing was left.
      At once {a} came closer and {f.ate} everything up.
      {A} put {f} on the ground, and {a.the} {f.ate} everything.
      handy f > {a.the} {f.ate} everything out of {A.his} hand.

    show joy
    needs: fed A a
      Then {a} {a.joy}.
      {a.the} was not afraid any more and {a.joy}.
      That was how {a} said thank you: it {a.joy}.

    come again
    needs: fed A a; rests a S; ate a f
      The next morning {a} was waiting {S} for {A.o}.
      From then on, {A} came every day and brought {a.them} {f.new}.
      When {A} came back the next day, {a} was already sitting {S}.
      {A} and {a.the} were friends from that day on.

    be taken home
    needs: fed A a; pet a; family_of G A
      {a.the} followed {A.o} all the way home, and {+G} let it stay.
      "May I keep {a.them}?" {A} asked {+G.o}, and so {a} found a home.
    """
)


def hungry(plan: Plan) -> None:
    """What a cat will not eat, and what it will."""
    a, animal = plan.hero, plan.draw("eater")
    p = plan.draw("visits", animal)
    s, f = plan.draw("spot", p), plan.draw("eats", animal)
    stays = plan.holds("pet", animal) and plan.maybe(0.4)
    helper = {"T": plan.draw("village")} if stays or plan.maybe(0.5) else {"G": plan.family(a)}
    plan.about(animal, p)
    plan.do("meet a hungry animal", A=a, a=animal, P=p, S=s)
    starves = plan.maybe(0.5)
    if starves:
        plan.do("be hungry", A=a, a=animal)
    if not starves or plan.maybe(0.5):
        plan.do("offer the wrong food", A=a, a=animal, g=plan.draw("refuses", animal))
    plan.do("fetch the right food", A=a, a=animal, f=f, **helper)
    plan.do("eat", A=a, a=animal, f=f)
    joyful = plan.maybe(0.6)
    if joyful:
        plan.do("show joy", A=a, a=animal)
    if stays:
        plan.do("be taken home", A=a, a=animal, G=plan.family(a, "mother", "father", "grandmother", "grandfather"))
    elif not joyful or plan.maybe(0.5):
        plan.do("come again", A=a, a=animal, S=s, f=f)
