"""The things, animals, plants and food of the tales: what they look like, what they are good for, how they are said."""

from transformer_core.corpora.grammars.stories.tables import Fact, Forms, features, forms, merged, rows

# word | a, an, some, a pair of | in full | adjectives, of which it has one
_THINGS = """
    ball       | a         | ball            | red, blue, yellow, green
    kite       | a         | kite            | red, green, yellow, white
    doll       | a         | doll            | wooden, little, old
    boat       | a         | boat            | little, wooden, white, blue
    drum       | a         | drum            | little, red, new
    flute      | a         | flute           | wooden, silver, new
    whistle    | a         | whistle         | silver, wooden, little
    book       | a         | book            | blue, old, big
    bell       | a         | bell            | little, silver, old
    cart       | a         | cart            | little, red, wooden
    sledge     | a         | sledge          | old, wooden, red
    hat        | a         | hat             | blue, green, white
    cap        | a         | cap             | red, woollen, green
    scarf      | a         | scarf           | long, woollen, yellow, blue
    mittens    | a pair of | mittens         | red, warm, woollen, white
    coat       | a         | coat            | warm, blue, brown
    umbrella   | an        | umbrella        | black, blue, big
    lantern    | a         | lantern         | old, little, new
    basket     | a         | basket          | little, round, brown
    blanket    | a         | blanket         | warm, woollen, blue
    stick      | a         | walking stick   | strong, long, brown
    jug        | a         | jug             | blue, white, brown
    cup        | a         | cup             | blue, white, new
    bowl       | a         | bowl            | blue, white, brown
    plate      | a         | plate           | blue, white, old
    soup       | a         | pot of soup     | warm, big
    bread      | a         | loaf of bread   | fresh, round
    cake       | a         | cake            | fresh, little, round
    letter     | a         | letter          | -
    cookies    | some      | cookies         | -
    pears      | some      | pears           | -
    nuts       | some      | nuts            | -
    eggs       | some      | eggs            | -
    cheese     | a         | piece of cheese | -
    milk       | a         | bowl of milk    | -
    fish       | a         | fish            | little
    bone       | a         | bone            | big
    sausage    | a         | sausage         | big
    crumbs     | some      | crumbs          | -
    seeds      | some      | seeds           | -
    hay        | some      | hay             | fresh
    apple      | an        | apple           | red, green
    carrot     | a         | carrot          | long, fresh
    sunflower  | a         | sunflower       | -
    pumpkin    | a         | pumpkin         | -
    beans      | some      | beans           | -
    tomatoes   | some      | tomatoes        | -
    cabbages   | some      | cabbages        | -
"""
_ANIMALS = """
    dog        | a         | dog             | brown, old, little, white
    cat        | a         | cat             | thin, grey, black, white
    bird       | a         | bird            | little, brown, black
    rabbit     | a         | rabbit          | little, brown, grey
    squirrel   | a         | squirrel        | little, red, thin
    donkey     | a         | donkey          | old, grey, little
    goat       | a         | goat            | white, black, young
    lamb       | a         | lamb            | white, little
    cow        | a         | cow             | brown, old
    duck       | a         | duck            | white, brown
    fox        | a         | fox             | young, red
    hedgehog   | a         | hedgehog        | little, round
    mouse      | a         | mouse           | little, grey
    owl        | an        | owl             | young, white, brown
"""
PLURALS = frozenset("mittens cookies pears nuts eggs seeds crumbs beans tomatoes cabbages".split())

THINGS = {word: cells for word, *cells in rows(_THINGS)}
ANIMALS = {word: cells for word, *cells in rows(_ANIMALS)}
_ALL = THINGS | ANIMALS
ARTICLE = {word: "a" if article == "an" else article for word, (article, _, _) in _ALL.items()}
PHRASE = {word: phrase for word, (_, phrase, _) in _ALL.items()}
LOOKS = {word: tuple(look.replace("-", "") for look in looks.split(", ")) for word, (_, _, looks) in _ALL.items()}
PRONOUN = {word: "they" if word in PLURALS else "it" for word in _ALL}


def indefinite(what: str, phrase: str) -> str:
    """A red ball, an old bell, some milk: a noun, with or without an adjective, behind the article that it takes."""
    article = ARTICLE[what]
    return f"{'an' if article == 'a' and phrase[0] in 'aeiou' else article} {phrase}"


FORMS: Forms = merged(
    {
        "was": {word: "were" if word in PLURALS else "was" for word in _ALL},
        "is": {word: "are" if word in PLURALS else "is" for word in _ALL},
        "a": {word: word if word in PLURALS else f"{article} {word}" for word, (article, _, _) in _ALL.items()},
        "ate": {word: "drank" if word == "milk" else "ate" for word in THINGS},
    },
    forms(
        "broke mended",
        """
        jug   | the handle broke off   | glued the handle back on
        cup   | the handle broke off   | glued the handle back on
        bowl  | the bowl broke in two  | glued the two pieces together
        plate | the plate broke in two | glued the two pieces together
        """,
    ),
    forms(
        "snapped fixed",
        """
        cart    | a wheel came off     | put the wheel back on
        boat    | the mast broke       | made a new mast
        doll    | an arm came off      | put the arm back on
        coat    | a sleeve came off    | sewed the sleeve back on
        kite    | the string broke     | put on a new string
        lantern | the handle broke off | made a new handle
        sledge  | the rope broke       | put on a new rope
        """,
    ),
    forms(
        "lack made relief",
        """
        mittens  | always had cold hands             | knitted | never had cold hands again
        scarf    | was always cold in the wind       | knitted | was not cold in the wind any more
        blanket  | was often cold in the evening     | knitted | sat by the window every evening and was warm
        basket   | had only an old bag for the eggs  | -       | carried the eggs home in the basket
        stick    | found it hard to walk up the hill | carved  | walked up the hill with the stick
        cup      | drank tea from a broken cup       | -       | drank tea only from the new cup
        lantern  | could not see the path at night   | -       | saw every stone on the path at night
        umbrella | came home wet whenever it rained  | -       | came home dry whenever it rained
        """,
    ),
    forms(
        "used",
        """
        ball    | played with the ball
        kite    | flew the kite
        doll    | played with the doll
        boat    | played with the boat
        drum    | played the drum
        flute   | played the flute
        whistle | played the whistle
        book    | read the book
        """,
    ),
    forms(
        "seed",
        """
        sunflower | a sunflower seed
        pumpkin   | a pumpkin seed
        beans     | six beans
        tomatoes  | some tomato seeds
        cabbages  | some cabbage seeds
        """,
    ),
    forms(
        "many",
        """
        cookies  | six cookies
        pears    | six pears
        nuts     | six nuts
        eggs     | six eggs
        """,
    ),
    forms(
        "joy",
        """
        cat      | began to purr
        dog      | jumped for joy
        rabbit   | jumped about in the grass
        squirrel | danced about from branch to branch
        bird     | sang a song
        duck     | flapped its wings
        """,
    ),
    forms(
        "left",
        """
        bird     | flew up into the sky
        duck     | ran down to the water
        fox      | ran off into the forest
        dog      | jumped for joy
        donkey   | ran across the field
        """,
    ),
)

FACTS: frozenset[Fact] = features(
    """
    losable: ball, doll, boat, drum, flute, whistle, book, bell, hat, cap, scarf, mittens
    toy: ball, kite, doll, boat, drum, flute, whistle, cart, sledge
    wear: hat, cap, scarf, mittens, coat
    light: ball, doll, hat, cap, scarf, mittens, whistle
    airy: kite, ball, hat, cap
    head: hat, cap
    fragile: jug, cup, bowl, plate
    mends carpenter: cart, boat, doll
    mends tailor: coat, kite
    mends smith: lantern, sledge, cart
    fixable: cart, boat, doll, coat, kite, lantern, sledge
    mender: carpenter, smith, tailor
    carried: cart, boat, doll, kite, lantern, sledge
    small: whistle, bell
    need: mittens, scarf, blanket, basket, stick, cup, lantern, umbrella
    made: mittens, scarf, blanket, stick
    teaches mittens: teacher, tailor
    teaches scarf: teacher, tailor
    teaches blanket: teacher, tailor
    teaches stick: carpenter, farmer
    goods: soup, bread, cake, letter
    edible: soup, bread, cake
    dryable: bread, letter
    swappable: ball, kite, doll, boat, drum, flute, whistle, book
    plant: sunflower, pumpkin, beans, tomatoes, cabbages
    food: beans, tomatoes, cabbages
    lendable: umbrella, lantern, mittens, scarf, coat, sledge
    soft: mittens, scarf, coat
    hound: dog
    eater: cat, dog, rabbit, squirrel, bird, duck
    pet: cat, dog
    handy: bone, sausage, crumbs, carrot, hay, nuts, seeds
    eats cat: milk, fish
    eats dog: bone, sausage
    eats rabbit: carrot, hay
    eats squirrel: nuts, seeds
    eats bird: seeds, crumbs
    eats duck: crumbs, seeds
    eats goat: apple, carrot, hay
    eats cow: apple, hay
    eats donkey: carrot, apple, hay
    eats lamb: hay, carrot
    refuses cat: apple, carrot, nuts
    refuses dog: apple, nuts, hay
    refuses rabbit: cheese, fish, bone
    refuses squirrel: cheese, fish, bone
    refuses bird: cheese, carrot, hay
    refuses duck: apple, nuts, cheese
    keeps baker: crumbs, nuts, milk
    keeps farmer: milk, hay, carrot, seeds, bone, sausage
    keeps gardener: carrot, seeds, nuts
    keeps miller: crumbs, seeds
    night: mouse, cat, owl, hedgehog
    grateful: bird, fox, dog, duck, donkey
    guide: bird, fox, dog
    diver: duck
    carrier: donkey
    robber: mouse, fox, hedgehog, goat, dog
    steals mouse: cookies, nuts
    steals fox: eggs
    steals hedgehog: pears, nuts
    steals goat: pears
    steals dog: eggs, cookies
    farm: goat, cow, donkey, lamb
    """
) | {(word, word) for word in _ALL}
