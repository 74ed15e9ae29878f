"""Something is lent in need and given back."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deed

NEED = deed(
    "be in need",
    needs="begin; lendable x",
    gives="needs A x",
    ends="begin",
    says="""
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
    """,
)
LEND = deed(
    "lend",
    needs="needs A x",
    gives="has A x; owns B x; borrowed A x; helped B A",
    ends="needs A x",
    says="""
    {A.s} friend {+B} saw it. "Take my {+x.full}, I do not need {x.them} today," {B} said.
    Then {A.his} friend {+B} came along and lent {A.him} {B.his} {+x.full}.
    "You can have my {+x.full} until tomorrow," said {A.his} friend {+B}.
    {A.s} {B.brother} {+B} said, "Take my {+x.full}, but bring {x.them} back tomorrow."
    """,
)
VOW = deed(
    "promise to give it back",
    needs="borrowed A x; owns B x; helped B A",
    says="""
    "Thank you! I will bring {x.them} back tomorrow," {A.said}.
    {A} thanked {B.o} and promised to take good care of {x}.
    """,
)
USE = deed(
    "use it",
    needs="borrowed A x; has A x",
    gives="used A x",
    says="""
    umbrella x > {A} walked home under {x.the} and stayed dry.
    umbrella x > The rain fell on {x.the}, but {A} came home dry.
    lantern x > With {x.the} in {A.his} hand, {A} found the way home.
    lantern x > The light of {x.the} fell on every stone, and soon {A} was at home.
    mittens x > Soon {A.s} hands were warm again.
    scarf x > {A} wore {x.the} all the way home and was not cold any more.
    coat x > {A} wore {x.the} all the way home and was not cold any more.
    sledge x > {A} flew down the hill on {x.the} again and again until it grew dark.
    """,
)
CLEAN = deed(
    "clean it",
    needs="borrowed A x; used A x; has A x",
    gives="ready A x",
    says="""
    soft x > That evening {A} washed {x} with care and hung {x.them} beside the stove.
    umbrella x > At home {A} opened {x} again and let {x.them} dry beside the stove.
    lantern x > Before {A} went to bed, {A.he} cleaned {x} with care.
    sledge x > That evening {A} cleaned {x} with care.
    """,
)
REMIND = deed(
    "almost forget it",
    needs="borrowed A x; used A x; has A x",
    gives="ready A x",
    says="""
    The next morning {A} almost forgot {x}, but there {x.it} {x.was}, beside the door.
    At home {A} put {x} beside the door so that {A.he} would not forget {x.them}.
    The next day was sunny, but {A} remembered {x} all the same.
    """,
)
GIVE_BACK = deed(
    "give back",
    needs="borrowed A x; ready A x; has A x; owns B x",
    gives="has B x; honest A",
    ends="borrowed A x; has A x",
    says="""
    {A} went to {B.o} and gave {x} back, together with [some nuts|a piece of cake].
    Before school {A} brought {x} back to {B.o}.
    {A} knocked at {B.s} door. "Here {x.is} your {x.noun}," {A} said.
    """,
)
TRUST = deed(
    "trust",
    needs="honest A; owns B x; has B x",
    says="""
    "You can have {x.them} again whenever you like," {B.said}.
    {B} was glad, for {x.the} looked as good as new.
    "I knew that I could trust you," {B.said}.
    """,
)
DEEDS = (NEED, LEND, VOW, USE, CLEAN, REMIND, GIVE_BACK, TRUST)


def borrowed(plan: Plan) -> None:
    """A lantern for the way home."""
    a, x = plan.hero, plan.draw("lendable")
    b, p = plan.friend(a), plan.draw("lends", x)
    plan.about(x, p)
    plan.do(NEED, A=a, x=x, P=p)
    plan.do(LEND, A=a, B=b, x=x)
    if plan.maybe(0.5):
        plan.do(VOW, A=a, B=b, x=x)
    plan.do(USE, A=a, x=x)
    plan.do(CLEAN if plan.maybe(0.5) else REMIND, A=a, x=x)
    plan.do(GIVE_BACK, A=a, B=b, x=x)
    plan.do(TRUST, A=a, B=b, x=x)
