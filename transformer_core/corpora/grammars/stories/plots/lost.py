"""Something is left behind, missed, and found where it was left."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    take along
    needs: begin; losable x; outdoors P
    gives: owns A x; has A x; at A P
    ends: begin
      [One sunny morning|One fine day|One warm afternoon], {?A} took {A.his} {+x.full} {P.to}.
      On Sunday, {?A} went {P.to} and took {A.his} {+x.full} along.
      {?A} had {+x.new} and took {x.them} everywhere, even {P.to}.
      toy x > {?A} loved {A.his} {+x.full}. One day {A} took {x.them} {P.to}.
      toy x > [One fine morning|One summer afternoon], {?A} was playing {P} with {A.his} {+x.full}.
      wear x > It was a cold [morning|day], and {?A} went {P.to} in {A.his} {+x.full}.

    leave behind
    needs: has A x; at A P; spot P S
    gives: lies x S; missing x
    ends: has A x
      {A} laid {x} {S} to watch a bird, and when {A.he} went home, {x.it} stayed there.
      But when {A.his} friends called, {A.he} ran to them and left {x} {S}.
      Suddenly it began to rain, and {A} ran home so fast that {A.he} left {x.the} {S}.
      {A} wanted to pick flowers with both hands, so {A.he} put {x} down {S} and forgot {x.them} there.
      After a while {A} grew [hungry|tired] and walked home. But {x.the} still lay {S}.

    miss
    needs: lies x S; owns A x
    gives: missed A x
      At home {A} looked for {x} in every room, but {x.it} {x.was} not there.
      Only at home did {A} notice that {x.the} {x.was} gone.
      That evening {A} looked under the bed and behind the door, but {x.the} {x.was} nowhere to be found.
      At bedtime {A} noticed that {x.the} {x.was} missing, and tears came to {A.his} eyes.

    ask
    needs: missed A x; at A P
    gives: knows B x
      "Have you seen my {x.noun}?" {A} asked {A.his} {B.brother} {+B}.
      "I have lost my {x.np}," {A} told {A.his} friend {+B}.
      {A.s} {B.brother} {+B} saw how sad {A} was and asked what was wrong.
      The next morning {A} told {A.his} friend {+B} all about it.
      {A} asked {A.his} {B.brother} {+B} to help {A.him} look for {x}.

    find for another
    needs: knows B x; owns A x; lies x S; at A P
    gives: has B x
    ends: lies x S
      {B} ran {P.to} and looked everywhere, and there, {S}, lay {x.the}.
      {B} went {P.to}, searched for a long time and found {x} {S}.
      {B} had an idea. {B} ran {P.to}, and there, {S}, lay {x.the}.
      {B} thought for a moment, went {P.to} and found {x} {S}.

    bring back
    needs: has B x; owns A x; missed A x
    gives: has A x; helped B A
    ends: has B x; missing x
      {B} brought {x} back, and {A} [jumped for joy|laughed out loud].
      "Here {x.is} your {x.noun}!" {B.called}, and {A} could hardly believe it.
      {B} carried {x} home and laid {x.them} in {A.s} hands.
      "Look what I have found!" {B.called} and gave {A.o} {x.the}.

    search together
    needs: knows B x; owns A x; lies x S; at A P
    gives: has A x; helped B A
    ends: lies x S; missing x
      "Let us look {P}," {B.said}. And there, {S}, {A+B} found {x.the}.
      {A+B} went back {P.to} together, and it was {B.name} who found {x} {S}.
      The two of them searched {P}, and at last {B} found {x} {S}.

    remember and find
    needs: missed A x; lies x S; at A P
    gives: has A x
    ends: lies x S; missing x
      {A} sat down and thought hard, and then {A.he} remembered {S.the}. {A} ran back {P.to}, and there lay {x.the}.
      Then {A} remembered {S.the}. {A} hurried back {P.to} and found {x} {S}.
      The next morning {A} went back {P.to}, step by step, and there, {S}, lay {x.the}.

    find by the nose
    needs: light x; missed A x; lies x S; at A P; hound a
    gives: has A x; fetched a x
    ends: lies x S; missing x
      {A.s} {+a.noun} sniffed at the ground and ran off {P.to}. Soon {a.it} came back with {x.the} in its mouth.
      {A} went back {P.to} with {A.his} {+a.noun}, and it ran straight to {S.the} and brought {A.him} {x.the}.

    reward the dog
    needs: fetched a x; owns A x
      {A} stroked {a} and gave {a.them} a big bone.
      "Good dog!" {A.said} and gave {a.them} a bone.

    keep well
    needs: owns A x; has A x; missed A x
    gives: kept A x
      {A} was happy to have {A.his} {x.np} back.
      From that day on, {A} never left {x} behind again.
      That night {A.his} {x.np} lay beside {A.his} bed.
      After that, {A} always took good care of {A.his} {x.np}.
    """
)


def lost(plan: Plan) -> None:
    """Something left behind is found by a friend, by the dog, or by thinking."""
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
