"""Something flies too high and is brought down again."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    go out in the wind
    needs: begin; airy x; windy P
    gives: owns A x; has A x; at A P
    ends: begin
      kite x > The wind was strong, and {?A} was flying {A.his} {+x.full} {P}.
      kite x > [One windy morning|One autumn day], {?A} took {A.his} {+x.full} {P.to}.
      kite x > {?A} had built {+x.new} and went {P.to} to try {x.them} out.
      ball x > [One day|One afternoon], {?A} was playing {P} with {A.his} {+x.full}.
      ball x > {?A} had got {+x.new} for {A.his} birthday and took {x.them} {P.to}.
      head x > [One windy morning|One stormy day], {?A} was walking {P} in {A.his} {+x.full}.
      head x > {?A} was so proud of {A.his} {+x.full} that {A.he} wore {x.them} {P} on a windy day.

    get caught
    needs: has A x; at A P; high P S
    gives: stuck x; caught x S
    ends: has A x
      kite x > {x.the} rose higher and higher, until {x.it} got caught {S}.
      kite x > Suddenly the string slipped out of {A.his} hand, and {x.the} landed {S}.
      ball x > {A} threw {x} so high that {x.it} landed {S} and did not come down again.
      ball x > {A} kicked {x} as hard as {A.he} could, and {x.it} landed {S}.
      head x > The wind took {x} from {A.his} head, and {x.it} landed {S}.
      head x > Then the wind pulled {x} off {A.his} head and carried {x.them} away, and {x.it} got stuck {S}.

    try in vain
    needs: stuck x; owns A x; caught x S
    gives: tried A
      {A} jumped as high as {A.he} could, but {A.he} could not reach {x}.
      {A} threw a stick at {x}, but then the stick stayed up there too.
      {A} stretched out {A.his} arms, but {x.the} was much too high.
      tree S > {A} shook the tree, but only leaves came down.
      tree S > {A} tried to climb the tree, but the first branch was too high.

    come with a ladder
    needs: stuck x; owns A x; village T; caught x S
    gives: knows T x; ladder T
      Just then {+T} came by with a long ladder.
      {+T} saw what had happened and fetched a ladder.
      {A} ran to {+T} and asked for help. {T} fetched a ladder.
      "What are you looking at up there?" asked {+T}, who was carrying a ladder.

    bring down
    needs: knows T x; ladder T; caught x S; owns A x
    gives: has A x; helped T A
    ends: stuck x; caught x S
      {T} leaned it against {S.wall}, climbed up and brought {x} down.
      {T} climbed up, step by step, and came down with {x.the} in {T.his} hand.
      {T} leaned it against {S.wall}, and a moment later {A} had {A.his} {x.np} again.

    climb up
    needs: stuck x; owns A x; caught x S; tree S; child B
    gives: has A x; helped B A
    ends: stuck x; caught x S
      {A.s} {B.brother} {+B} climbed from branch to branch and threw {x} down to {A.o}.
      {A.s} friend {+B} was good at climbing. {B} went up from branch to branch and came down with {x.the}.
      "Wait, I will get {x.them}!" called {A.his} friend {+B}. Soon {A} had {A.his} {x.np} again.

    take care
    needs: owns A x; has A x; tried A
      kite x > From then on, {A} flew {x} only where there were no trees.
      kite x > After that, {A} always held the string with both hands.
      ball x > After that, {A} did not throw {x} so high any more.
      ball x > From then on, {A} played with {x} in the open field.
      head x > On the way home {A} held {x} with both hands.
      head x > From then on, {A} wore {x} only when there was no wind.
    """
)


def stuck(plan: Plan) -> None:
    """A kite, a ball or a hat ends up in a tree or on a roof."""
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
