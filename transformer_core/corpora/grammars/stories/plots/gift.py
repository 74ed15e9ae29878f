"""Somebody lacks something, and is given it on a birthday."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    notice what is needed
    needs: begin; need x; family_of G A
    gives: wished G x; noticed A x
    ends: begin
      {?A} had noticed that {+G} {x.lack}.
      {?A} saw that {+G} {x.lack}.
      {+G} {x.lack}, and that made {?A.o} think.

    think of the birthday
    needs: noticed A x; wished G x
    gives: plans A
      Soon it was {G.s} birthday, but {A} had no money for a present.
      {G.s} birthday was only a week away, and {A} had an idea.
      "Now I know what to give {G.him} for {G.his} birthday," {A.thought}.
      "I must find a present for {G.his} birthday," {A.thought}.

    make the present
    needs: plans A; wished G x; made x
    gives: has A x
      Every evening {A} sat in {A.his} room and {x.made} {+x.new}.
      {A} asked {+T} to show {A.him} how, and then {A} {x.made} {+x.new}.
      For three days {A} worked without a word and {x.made} {+x.new}.

    earn the money
    needs: plans A; wished G x; chore T w
    gives: coins A
      {A} helped {+T} {w.do} and got three coins for it.
      For a whole week {A} helped {+T} {w.do}, until {A.he} had enough money.

    buy the present
    needs: coins A; wished G x
    gives: has A x
    ends: coins A
      With the money {A} bought {+x.new} at the market.
      At the market there was {+x.new}, and {A} had just enough money.

    hide the present
    needs: has A x; wished G x; secret S
    gives: lies x S
    ends: has A x
      {A} hid {x} {S}, where nobody would look.
      Until the birthday {A} kept {x} {S}.

    give from the hiding place
    needs: lies x S; wished G x; plans A
    gives: has G x; owns G x; helped A G
    ends: wished G x; lies x S
      On the morning of the birthday, {A} fetched {x.the} {S.fetch} and gave {x.them} to {G.o}.
      At last the day came, and {A} took {x.the} {S.fetch} and put {x.them} into {G.s} hands.

    give
    needs: has A x; wished G x; plans A
    gives: has G x; owns G x; helped A G
    ends: has A x; wished G x
      On the morning of the birthday, {A} gave {x.the} to {G.o}.
      At last the day came, and {A} put {x.the} into {G.s} hands.

    be delighted
    needs: has G x; owns G x; helped A G
      "How did you know that I needed {x.a}?" {G.asked}.
      {G} was so happy that {G.he} gave {A.o} a big hug.
      "This is the best present of all," {G.said}.
      {G} laughed for joy and hugged {A.o}.

    need it no more
    needs: has G x; owns G x; helped A G
      From then on, {G} {x.relief}.
      And from that day on, {G} {x.relief}.
      Now {G} {x.relief}, and {A} was proud.
    """
)


def gift(plan: Plan) -> None:
    """A pair of mittens for cold hands."""
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
