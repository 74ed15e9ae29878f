"""The verbs of both languages, one row each, with every form that the grammar uses."""

from dataclasses import dataclass
from typing import Literal

from grammars.en_fr.lexicon import rows


@dataclass(frozen=True)
class Verb:
    """A verb, in the third person: no other is used."""

    base: str
    third: str  # third person singular of the present
    past: str
    ing: str
    infinitive: str
    present: str  # il
    present_plural: str  # ils
    participle: str
    future: str  # stem: -a, -ont
    imparfait: str  # stem: -ait, -aient
    auxiliary: Literal["avoir", "être"]
    aspect: Literal["event", "sight", "state"]  # events can be in progress ("is reading"); states have imparfait
    english_preposition: str = ""
    french_preposition: str = ""


WITH_ETRE = frozenset({"enter", "go", "come back", "stay", "fall"})  # passé composé: "est allé"


def _verbs(table: str) -> dict[str, Verb]:
    verbs = {}
    for row in rows(table):
        base, third, past, ing, infinitive, present, present_plural, participle, future, imparfait, aspect = row[:11]
        english_preposition, french_preposition = row[11:] or ("-", "")
        verbs[base] = Verb(
            base,
            third,
            past,
            ing,
            infinitive,
            present,
            present_plural,
            participle,
            future,
            imparfait,
            auxiliary="être" if base in WITH_ETRE else "avoir",
            aspect="state" if aspect == "state" else "sight" if aspect == "sight" else "event",
            english_preposition=english_preposition.strip("-"),
            french_preposition=french_preposition,
        )
    return verbs


VERBS = _verbs(
    """
    cross     crosses    crossed   crossing    traverser traverse traversent traversé traverser travers event
    leave     leaves     left      leaving     quitter   quitte   quittent   quitté   quitter   quitt   event
    climb     climbs     climbed   climbing    gravir    gravit   gravissent gravi    gravir    graviss event
    carry     carries    carried   carrying    porter    porte    portent    porté    porter    port    event
    eat       eats       ate       eating      manger    mange    mangent    mangé    manger    mange   event
    drink     drinks     drank     drinking    boire     boit     boivent    bu       boir      buv     event
    buy       buys       bought    buying      acheter   achète   achètent   acheté   achèter   achet   event
    read      reads      read      reading     lire      lit      lisent     lu       lir       lis     event
    write     writes     wrote     writing     écrire    écrit    écrivent   écrit    écrir     écriv   event
    open      opens      opened    opening     ouvrir    ouvre    ouvrent    ouvert   ouvrir    ouvr    event
    follow    follows    followed  following   suivre    suit     suivent    suivi    suivr     suiv    event
    watch     watches    watched   watching    regarder  regarde  regardent  regardé  regarder  regard  event
    give      gives      gave      giving      donner    donne    donnent    donné    donner    donn    event
    see       sees       saw       -           voir      voit     voient     vu       verr      voy     sight
    find      finds      found     -           trouver   trouve   trouvent   trouvé   trouver   trouv   sight
    lose      loses      lost      -           perdre    perd     perdent    perdu    perdr     perd    sight
    like      likes      liked     -           aimer     aime     aiment     aimé     aimer     aim     state
    enter     enters     entered   entering    entrer    entre    entrent    entré    entrer    entr    event - dans
    go        goes       went      going       aller     va       vont       allé     ir        all     event to à
    come_back comes_back came_back coming_back revenir   revient  reviennent revenu   reviendr  reven   event from de
    stay      stays      stayed    staying     rester    reste    restent    resté    rester    rest    event in dans
    fall      falls      fell      falling     tomber    tombe    tombent    tombé    tomber    tomb    event into dans
    live      lives      lived     living      habiter   habite   habitent   habité   habiter   habit   state in dans
    sleep     sleeps     slept     sleeping    dormir    dort     dorment    dormi    dormir    dorm    event
    sing      sings      sang      singing     chanter   chante   chantent   chanté   chanter   chant   event
    play      plays      played    playing     jouer     joue     jouent     joué     jouer     jou     event
    run       runs       ran       running     courir    court    courent    couru    courr     cour    event
    bark      barks      barked    barking     aboyer    aboie    aboient    aboyé    aboier    aboy    event
    want      wants      wanted    -           vouloir   veut     veulent    voulu    voudr     voul    state
    can       can        could     -           pouvoir   peut     peuvent    pu       pourr     pouv    state
    be        is         was       being       être      est      sont       été      ser       ét      state
    have      has        had       having      avoir     a        ont        eu       aur       av      state
    """
)
