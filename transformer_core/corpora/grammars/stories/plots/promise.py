"""A promise is kept although there is something nicer to do."""

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    promise
    needs: begin; task w; family_of G A
    gives: promised A G; job A w
    ends: begin
      [One morning|One day], {?A} promised {+G.o} to {w.do} before evening.
      {?A} promised {+G.o} that {A.he} would {w.do} before evening.
      {+G} had to go to town, and {?A} promised to {w.do}.
      "I will {w.do} today," {?A} promised {+G.o} [one morning|one day].
      Before {+G} left the house, {?A} promised {G.him} to {w.do}.

    be called to play
    needs: promised A G; game n
    gives: called B A; plays B n
      Then {A.his} friend {+B} came to the gate. "Come and {n.do} with me!" {B} called.
      But soon {A.his} friend {+B} knocked at the door and wanted to {n.do}.
      Just then {A.s} friend {+B} came by. "Shall we {n.do}?" {B} asked.
      {A.s} friend {+B} came by and wanted {A.him} to come along and {n.do}.

    put the promise first
    needs: promised A G; job A w; called B A
    gives: firm A
      {A} would have liked to go at once, but {A.he} thought of {A.his} promise.
      "First I have to {w.do}," {A.said}.
      "I am coming," {A.said}, "but I have given my word, and first I must {w.do}."
      {A} looked at {B.o} and then at {A.his} work. "A promise is a promise," {A} said.

    do the task
    needs: firm A; job A w; called B A; plays B n
    gives: done w; did A w
      So {A} {w.did}, and only then did {A.he} run off to {n.do}.
      {A} {w.did} as fast as {A.he} could, and after that {A+B} went to {n.do}.
      So {A} {w.did}, and {B} waited beside the gate.

    do the task together
    needs: firm A; job A w; called B A; plays B n
    gives: done w; did A w; helped B A
      "Then I will help you," {B.said}. Together {A+B} {w.did}, and soon the work was done.
      So {B} helped {A.o}, and when {A+B} had done the work, there was still time to {n.do}.
      {B} wanted to help, and together {A+B} {w.did}.

    forget the promise
    needs: promised A G; job A w; called B A; plays B n
    gives: forgot A w
      {A} ran off with {B.o} to {n.do} and forgot all about the promise.
      It was such a fine day that {A} went along at once and did not think of {A.his} promise.

    remember the promise
    needs: forgot A w; job A w; promised A G
    gives: done w; did A w
      The sun was already low when {A} remembered, ran home and {w.did} just in time.
      But in the middle of it all {A} remembered. {A} ran home and {w.did}.
      It was almost dark when {A} thought of it, hurried home and {w.did}.

    come home and see
    needs: promised A G; job A w; done w
    gives: kept A G
    ends: promised A G
      When {G} came home, {w.result}.
      In the evening {G} saw that {w.result}.
      {G} came home late, but {w.result}.

    praise
    needs: kept A G; did A w
      "You kept your promise," {G.said} and gave {A.him} [a piece of cake|a big hug].
      "I knew that I could trust you," {G} said to {A.o}.
      {G} was proud of {A.o} and told everybody about it.
      "Thank you, {A.call}," {G.said} and was very glad.
    """
)


def promise(plan: Plan) -> None:
    """A friend calls, but the hens are hungry."""
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
