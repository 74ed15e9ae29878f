"""Plots about animals, tasks, noises and weather."""

from grammars.stories.casting import Plan


def errand(plan: Plan) -> None:
    """A delivery is delayed by the weather."""
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


def guess(plan: Plan) -> None:
    """A noise in the night is mistaken for something terrible."""
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


def hungry(plan: Plan) -> None:
    """A hungry animal gets what it likes, and does not forget it."""
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


def promise(plan: Plan) -> None:
    """A promise is kept although there is something nicer to do."""
    a, w, n = plan.hero, plan.draw("task"), plan.draw("game")
    g, b = plan.family(a), plan.friend(a)
    plan.about(w, n)
    plan.do("promise", A=a, G=g, w=w)
    plan.do("be called to play", A=a, G=g, B=b, n=n)
    together = plan.maybe(0.35)
    if plan.maybe(0.7):
        plan.do("put the promise first", A=a, G=g, B=b, w=w)
        plan.do("do the task together" if together else "do the task", A=a, B=b, w=w, n=n)
    else:
        plan.do("forget the promise", A=a, G=g, B=b, w=w, n=n)
        plan.do("remember the promise", A=a, G=g, w=w)
    plan.do("come home and see", A=a, G=g, w=w)
    plan.do("praise", A=a, G=g, w=w)


def repaid(plan: Plan) -> None:
    """Somebody helps an animal, and later the animal helps."""
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


def seed(plan: Plan) -> None:
    """A seed is planted, and patience is rewarded."""
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
    plan.do("be proved correct" if doubts and plan.maybe(0.6) else "enjoy the harvest", A=a, x=x, G=g)


def strayed(plan: Plan) -> None:
    """A gate is left open, and an animal is led home again."""
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


def thief(plan: Plan) -> None:
    """Food keeps disappearing, the wrong one is suspected, and the truth comes out at night."""
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
