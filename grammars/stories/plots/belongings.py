"""Plots about belongings: lent, broken, given, lost, repaired, stuck, swapped."""

from grammars.stories.casting import Plan


def borrowed(plan: Plan) -> None:
    """Something is lent in need and returned."""
    a, x = plan.hero, plan.draw("lendable")
    b, p = plan.friend(a), plan.draw("lends", x)
    plan.about(x, p)
    plan.do("be in need", A=a, x=x, P=p)
    plan.do("lend", A=a, B=b, x=x)
    if plan.maybe(0.5):
        plan.do("promise to give it back", A=a, B=b, x=x)
    plan.do("use it", A=a, x=x)
    plan.do("clean it" if plan.maybe(0.5) else "almost forget it", A=a, x=x)
    plan.do("give back", A=a, B=b, x=x)
    plan.do("trust", A=a, B=b, x=x)


def broken(plan: Plan) -> None:
    """Something of the family breaks; the truth comes out, and it is mended together."""
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


def gift(plan: Plan) -> None:
    """Somebody lacks something and gets it for a birthday."""
    a, x = plan.hero, plan.draw("need")
    g = plan.family(a)
    plan.about(x, g)
    plan.do("notice what is needed", A=a, G=g, x=x)
    plan.do("think of the birthday", A=a, G=g, x=x)
    by_hand = plan.holds("made", x) and plan.maybe(0.6)
    if by_hand:
        teacher = {"T": plan.draw("teaches", x)} if plan.maybe(0.5) else {}
        plan.do("make the present", A=a, G=g, x=x, **teacher)
    else:
        employer = plan.draw("employer")
        plan.do("earn the money", A=a, G=g, x=x, T=employer, w=plan.draw("chore", employer))
        plan.do("buy the present", A=a, G=g, x=x)
    if by_hand:
        s = plan.draw("secret")
        plan.do("hide the present", A=a, G=g, x=x, S=s)
        plan.do("give from the hiding place", A=a, G=g, x=x, S=s)
    else:
        plan.do("give", A=a, G=g, x=x)
    if plan.maybe(0.5):
        plan.do("be delighted", A=a, G=g, x=x)
    else:
        plan.do("need it no more", A=a, G=g, x=x)


def lost(plan: Plan) -> None:
    """Something is left behind, missed, and found where it was left."""
    a, x, p = plan.hero, plan.draw("losable"), plan.draw("outdoors")
    s = plan.draw("spot", p)
    plan.about(x, p)
    plan.do("take along", A=a, x=x, P=p)
    plan.do("leave behind", A=a, x=x, P=p, S=s)
    plan.do("miss", A=a, x=x, S=s)
    how = plan.chance(0.35, 0.25, 0.15, 0.25)
    if how < 2:
        b = plan.friend(a)
        plan.do("ask", A=a, x=x, P=p, B=b)
        if how == 0:
            plan.do("find for another", A=a, x=x, P=p, S=s, B=b)
            plan.do("bring back", A=a, x=x, B=b)
        else:
            plan.do("search together", A=a, x=x, P=p, S=s, B=b)
        if plan.maybe(0.6):
            plan.do("thank", A=a, B=b)
        elif how == 1:
            plan.do("keep well", A=a, x=x)
    elif how == 2 and plan.holds("light", x):
        dog = plan.draw("hound")
        plan.do("find by the nose", A=a, x=x, P=p, S=s, a=dog)
        plan.do("reward the dog", A=a, a=dog, x=x)
    else:
        plan.do("remember and find", A=a, x=x, P=p, S=s)
        plan.do("keep well", A=a, x=x)


def repaired(plan: Plan) -> None:
    """A belonging comes apart, and a craftsman repairs it."""
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


def stuck(plan: Plan) -> None:
    """Something flies too high and is brought down again."""
    a, x, p = plan.hero, plan.draw("airy"), plan.draw("windy")
    s = plan.draw("high", p)
    plan.about(x, p)
    plan.do("go out in the wind", A=a, x=x, P=p)
    plan.do("get caught", A=a, x=x, P=p, S=s)
    plan.do("try in vain", A=a, x=x, S=s)
    climbs = plan.holds("tree", s) and plan.maybe(0.5)
    if climbs:
        helper = plan.friend(a)
        plan.do("climb up", A=a, x=x, S=s, B=helper)
    else:
        helper = plan.draw("village")
        plan.do("come with a ladder", A=a, x=x, S=s, T=helper)
        plan.do("bring down", A=a, x=x, S=s, T=helper)
    if climbs or plan.maybe(0.6):
        plan.do("thank", A=a, B=helper)
        if not climbs or plan.maybe(0.4):
            return
    plan.do("take care", A=a, x=x)


def swap(plan: Plan) -> None:
    """Two children have what the other one would like."""
    a, x, p = plan.hero, plan.draw("swappable"), plan.draw("meeting")
    b, y = plan.friend(a), plan.draw("swappable", without=(x,))
    plan.about(x, p)
    plan.do("be tired of it", A=a, x=x)
    plan.do("see something better", A=a, B=b, x=x, y=y, P=p)
    plan.do("like the other thing", A=a, B=b, x=x, y=y)
    plan.do("offer to swap", A=a, B=b, x=x, y=y)
    plan.do("swap", A=a, B=b, x=x, y=y)
    if plan.maybe(0.7):
        plan.do("enjoy it", A=a, B=b, x=x, y=y)
    else:
        plan.do("miss the old thing", A=a, B=b, x=x, y=y)
        plan.do("share it", A=a, B=b, x=x, y=y)
