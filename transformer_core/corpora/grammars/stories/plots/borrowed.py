"""Something is lent in need and given back."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    be in need
    needs: begin; lendable x
    gives: needs A x
    ends: begin
      umbrella x > When {?A} came out of school, it was raining hard, and {A.he} had no umbrella.
      umbrella x; lends x P > {?A} stood under a tree {P} and watched the rain, for the way home was long.
      umbrella x > It began to rain hard when {?A} wanted to walk home from school.
      lantern x > It was already dark when {?A} wanted to walk home from the mill, and there was no light.
      lantern x; lends x P > {?A} had played too long {P}, and now it was night and {A.he} could not see the path.
      mittens x; lends x P > {?A} wanted to play in the snow {P}, but {A.his} hands were cold.
      mittens x > It was so cold on the way to school that {?A.s} hands grew red.
      scarf x; lends x P > A cold wind blew {P}, and {?A} had come without a scarf.
      coat x; lends x P > In the evening it grew cold {P}, and {?A} had come without a coat.
      sledge x; lends x P > Everybody was playing in the snow {P}, but {?A} had no sledge.

    lend
    needs: needs A x
    gives: has A x; owns B x; borrowed A x; helped B A
    ends: needs A x
      {A.s} friend {+B} saw it. "Take my {+x.full}, I do not need {x.them} today," {B} said.
      Then {A.his} friend {+B} came along and lent {A.him} {B.his} {+x.full}.
      "You can have my {+x.full} until tomorrow," said {A.his} friend {+B}.
      {A.s} {B.brother} {+B} said, "Take my {+x.full}, but bring {x.them} back tomorrow."

    promise to give it back
    needs: borrowed A x; owns B x; helped B A
      "Thank you! I will bring {x.them} back tomorrow," {A.said}.
      {A} thanked {B.o} and promised to take good care of {x}.

    use it
    needs: borrowed A x; has A x
    gives: used A x
      umbrella x > {A} walked home under {x.the} and stayed dry.
      umbrella x > The rain fell on {x.the}, but {A} came home dry.
      lantern x > With {x.the} in {A.his} hand, {A} found the way home.
      lantern x > The light of {x.the} fell on every stone, and soon {A} was at home.
      mittens x > Soon {A.s} hands were warm again.
      scarf x > {A} wore {x.the} all the way home and was not cold any more.
      coat x > {A} wore {x.the} all the way home and was not cold any more.
      sledge x > {A} flew down the hill on {x.the} again and again until it grew dark.

    clean it
    needs: borrowed A x; used A x; has A x
    gives: ready A x
      soft x > That evening {A} washed {x} with care and hung {x.them} beside the stove.
      umbrella x > At home {A} opened {x} again and let {x.them} dry beside the stove.
      lantern x > Before {A} went to bed, {A.he} cleaned {x} with care.
      sledge x > That evening {A} cleaned {x} with care.

    almost forget it
    needs: borrowed A x; used A x; has A x
    gives: ready A x
      The next morning {A} almost forgot {x}, but there {x.it} {x.was}, beside the door.
      At home {A} put {x} beside the door so that {A.he} would not forget {x.them}.
      The next day was sunny, but {A} remembered {x} all the same.

    give back
    needs: borrowed A x; ready A x; has A x; owns B x
    gives: has B x; honest A
    ends: borrowed A x; has A x
      {A} went to {B.o} and gave {x} back, together with [some nuts|a piece of cake].
      Before school {A} brought {x} back to {B.o}.
      {A} knocked at {B.s} door. "Here {x.is} your {x.noun}," {A} said.

    trust
    needs: honest A; owns B x; has B x
      "You can have {x.them} again whenever you like," {B.said}.
      {B} was glad, for {x.the} looked as good as new.
      "I knew that I could trust you," {B.said}.
    """
)


def borrowed(plan: Plan) -> None:
    """A lantern for the way home."""
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
