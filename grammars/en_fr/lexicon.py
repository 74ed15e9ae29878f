"""The words of both languages, as tables: a row is a word with all the forms that the grammar uses.

An underscore in a table is a space in the language (`come_back` is "come back").
"""

from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f"]
Person = Literal["animal", "person", "thing"]

ASPIRATED = frozenset({"hérisson", "hérissons"})  # h aspiré: "le hérisson"; all other h are mute: "l'homme"
VOWELS = "aàâeéèêëiîïoôœuùûy"


def opens_with_vowel(word: str) -> bool:
    """Return True if a French word begins with a vowel sound, so that le, que, ne and the like elide before it."""
    return word[0] in VOWELS or (word[0] == "h" and word not in ASPIRATED)


@dataclass(frozen=True)
class Noun:
    """A noun; its gender is that of the French word. A plural "-": it is uncountable."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: Gender
    kind: Person  # "it" for animals and things, "he" and "she" for persons


@dataclass(frozen=True)
class Adjective:
    """An adjective: one form in English, four or five in French."""

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    position: Literal["before", "after"]  # of the noun, in French
    before_vowel: str  # the masculine singular before a vowel: "bel", "vieil", "nouvel"

    def french(self, gender: Gender, plural: bool) -> str:
        """Return the form that agrees."""
        if gender == "m":
            return self.masculine_plural if plural else self.masculine
        return self.feminine_plural if plural else self.feminine


@dataclass(frozen=True)
class Sensation:
    """A sensation: an adjective in English, avoir and a noun in French: "was hungry", "avait faim"."""

    english: str
    french: str


def rows(table: str) -> list[list[str]]:
    """Return the cells of a text table, a list per line."""
    return [[cell.replace("_", " ") for cell in row.split()] for row in table.strip().splitlines()]


def _nouns(kind: Person, table: str) -> dict[str, Noun]:
    nouns = {}
    for english, english_plural, french, french_plural, gender in rows(table):
        nouns[english] = Noun(english, english_plural, french, french_plural, "m" if gender == "m" else "f", kind)
    return nouns


ANIMALS = _nouns(
    "animal",
    """
    animal    animals    animal      animaux      m
    dog       dogs       chien       chiens       m
    cat       cats       chat        chats        m
    horse     horses     cheval      chevaux      m
    bird      birds      oiseau      oiseaux      m
    fox       foxes      renard      renards      m
    wolf      wolves     loup        loups        m
    hedgehog  hedgehogs  hérisson    hérissons    m
    cow       cows       vache       vaches       f
    hen       hens       poule       poules       f
    mouse     mice       souris      souris       f
    tortoise  tortoises  tortue      tortues      f
    goat      goats      chèvre      chèvres      f
    goose     geese      oie         oies         f
    frog      frogs      grenouille  grenouilles  f
    giraffe   giraffes   girafe      girafes      f
    """,
)

PEOPLE = _nouns(
    "person",
    """
    man       men         homme      hommes      m
    boy       boys        garçon     garçons     m
    king      kings       roi        rois        m
    prince    princes     prince     princes     m
    woman     women       femme      femmes      f
    girl      girls       fille      filles      f
    queen     queens      reine      reines      f
    princess  princesses  princesse  princesses  f
    """,
)

PLACES = _nouns(
    "thing",
    """
    bridge    bridges    pont      ponts      m
    field     fields     champ     champs     m
    garden    gardens    jardin    jardins    m
    park      parks      parc      parcs      m
    path      paths      chemin    chemins    m
    lake      lakes      lac       lacs       m
    stream    streams    ruisseau  ruisseaux  m
    tunnel    tunnels    tunnel    tunnels    m
    village   villages   village   villages   m
    market    markets    marché    marchés    m
    castle    castles    château   châteaux   m
    volcano   volcanoes  volcan    volcans    m
    street    streets    rue       rues       f
    road      roads      route     routes     f
    river     rivers     rivière   rivières   f
    forest    forests    forêt     forêts     f
    square    squares    place     places     f
    avenue    avenues    avenue    avenues    f
    valley    valleys    vallée    vallées    f
    beach     beaches    plage     plages     f
    school    schools    école     écoles     f
    church    churches   église    églises    f
    house     houses     maison    maisons    f
    mountain  mountains  montagne  montagnes  f
    """,
)

THINGS = _nouns(
    "thing",
    """
    bag       bags        sac       sacs       m
    basket    baskets     panier    paniers    m
    chest     chests      coffre    coffres    m
    coat      coats       manteau   manteaux   m
    hat       hats        chapeau   chapeaux   m
    book      books       livre     livres     m
    poem      poems       poème     poèmes     m
    bread     -           pain      -          m
    cheese    -           fromage   -          m
    cake      cakes       gâteau    gâteaux    m
    egg       eggs        œuf       œufs       m
    milk      -           lait      -          m
    coffee    -           café      -          m
    box       boxes       boîte     boîtes     f
    table     tables      table     tables     f
    dress     dresses     robe      robes      f
    key       keys        clé       clés       f
    door      doors       porte     portes     f
    window    windows     fenêtre   fenêtres   f
    letter    letters     lettre    lettres    f
    story     stories     histoire  histoires  f
    soup      -           soupe     -          f
    apple     apples      pomme     pommes     f
    carrot    carrots     carotte   carottes   f
    water     -           eau       -          f
    """,
)

NOUNS = ANIMALS | PEOPLE | PLACES | THINGS


def _adjectives(table: str) -> dict[str, Adjective]:
    adjectives = {}
    for english, masculine, feminine, masculine_plural, feminine_plural, position, *before_vowel in rows(table):
        adjectives[english] = Adjective(
            english,
            masculine,
            feminine,
            masculine_plural,
            feminine_plural,
            "before" if position == "before" else "after",
            before_vowel[0] if before_vowel else masculine,
        )
    return adjectives


ADJECTIVES = _adjectives(
    """
    small        petit        petite        petits        petites        before
    big          grand        grande        grands        grandes        before
    young        jeune        jeune         jeunes        jeunes         before
    pretty       joli         jolie         jolis         jolies         before
    good         bon          bonne         bons          bonnes         before
    long         long         longue        longs         longues        before
    old          vieux        vieille       vieux         vieilles       before  vieil
    new          nouveau      nouvelle      nouveaux      nouvelles      before  nouvel
    beautiful    beau         belle         beaux         belles         before  bel
    black        noir         noire         noirs         noires         after
    white        blanc        blanche       blancs        blanches       after
    red          rouge        rouge         rouges        rouges         after
    green        vert         verte         verts         vertes         after
    tired        fatigué      fatiguée      fatigués      fatiguées      after
    frightened   effrayé      effrayée      effrayés      effrayées      after
    weak         faible       faible        faibles       faibles        after
    sick         malade       malade        malades       malades        after
    sad          triste       triste        tristes       tristes        after
    lazy         paresseux    paresseuse    paresseux     paresseuses    after
    nervous      nerveux      nerveuse      nerveux       nerveuses      after
    curious      curieux      curieuse      curieux       curieuses      after
    brave        courageux    courageuse    courageux     courageuses    after
    happy        heureux      heureuse      heureux       heureuses      after
    busy         occupé       occupée       occupés       occupées       after
    wide         large        large         larges        larges         after
    narrow       étroit       étroite       étroits       étroites       after
    deep         profond      profonde      profonds      profondes      after
    steep        escarpé      escarpée      escarpés      escarpées      after
    dark         sombre       sombre        sombres       sombres        after
    noisy        bruyant      bruyante      bruyants      bruyantes      after
    quiet        tranquille   tranquille    tranquilles   tranquilles    after
    empty        vide         vide          vides         vides          after
    crowded      bondé        bondée        bondés        bondées        after
    muddy        boueux       boueuse       boueux        boueuses       after
    dangerous    dangereux    dangereuse    dangereux     dangereuses    after
    slippery     glissant     glissante     glissants     glissantes     after
    heavy        lourd        lourde        lourds        lourdes        after
    expensive    cher         chère         chers         chères         after
    dirty        sale         sale          sales         sales          after
    boring       ennuyeux     ennuyeuse     ennuyeux      ennuyeuses     after
    difficult    difficile    difficile     difficiles    difficiles     after
    interesting  intéressant  intéressante  intéressants  intéressantes  after
    hot          chaud        chaude        chauds        chaudes        after
    cold         froid        froide        froids        froides        after
    hard         dur          dure          durs          dures          after
    fresh        frais        fraîche       frais         fraîches       after
    """
)

SENSATIONS = {
    "hungry": Sensation("hungry", "faim"),
    "thirsty": Sensation("thirsty", "soif"),
    "afraid": Sensation("afraid", "peur"),
}
