"""Places, and whatever else a tale speaks of in fixed words: weather, tasks, noises."""

from transformer_core.corpora.grammars.stories.tables import Fact, Forms, features, forms, merged

FORMS: Forms = merged(
    forms(
        "at to the",
        """
        garden  | in the garden  | into the garden  | the garden
        park    | in the park    | to the park      | the park
        meadow  | in the meadow  | to the meadow    | the meadow
        forest  | in the forest  | into the forest  | the forest
        beach   | on the beach   | to the beach     | the beach
        lake    | by the lake    | to the lake      | the lake
        river   | by the river   | to the river     | the river
        hill    | on the hill    | up the hill      | the hill
        market  | at the market  | to the market    | the market
        bridge  | on the bridge  | to the bridge    | the bridge
        kitchen | in the kitchen | into the kitchen | the kitchen
        hall    | in the hall    | into the hall    | the hall
        attic   | in the attic   | up to the attic  | the attic
        barn    | in the barn    | to the barn      | the barn
        shed    | in the shed    | to the shed      | the shed
        """,
    ),
    forms(
        "at the",
        """
        under_tree   | under the apple tree | the apple tree
        behind_shed  | behind the shed      | the shed
        gate         | beside the gate      | the gate
        fence        | behind the fence     | the fence
        grass        | in the tall grass    | the tall grass
        willow       | under the willow     | the willow
        oak          | under the old oak    | the old oak
        stream       | beside the stream    | the stream
        rocks        | between the rocks    | the rocks
        stone        | behind the big stone | the big stone
        under_bridge | under the bridge     | the bridge
        """,
    ),
    forms(
        "at wall",
        """
        apple_tree | in the apple tree         | the trunk
        oak_top    | in the top of the old oak | the trunk
        willow_top | in the top of the willow  | the trunk
        barn_roof  | on the roof of the barn   | the wall
        shed_roof  | on the roof of the shed   | the wall
        """,
    ),
    forms(
        "at",
        """
        box          | behind an old box
        roof         | under the roof
        table        | under the table
        stove        | beside the stove
        cart_corner  | behind the cart
        tools        | behind the tools
        windowsill   | on the windowsill
        table_top    | on the kitchen table
        low_shelf    | on a low shelf
        basket_place | in a basket beside the door
        far_side     | on the other side of the forest
        behind_hill  | behind the hill
        lakeside     | on the other side of the lake
        across       | across the river
        behind_house | behind the house
        garden_gate  | beside the garden gate
        window       | under the kitchen window
        shed_wall    | beside the shed
        garden_end   | at the end of the garden
        mountains    | in the mountains
        """,
    ),
    forms(
        "at fetch",
        """
        under_bed    | under the bed    | from under the bed
        old_box      | in an old box    | out of the box
        hay_heap     | in the hay       | out of the hay
        """,
    ),
    forms(
        "at new",
        """
        old_barn | in an old barn   | an old barn
        hut      | in an empty hut  | an empty hut
        old_mill | in an old mill   | an old mill
        """,
    ),
    forms(
        "into",
        """
        lake  | into the lake
        river | into the river
        """,
    ),
    forms(
        "began effect ended over noun",
        """
        rain  | it began to rain hard | the path turned to mud      | the rain stopped   | the rain was over  | rain
        snow  | it began to snow      | snow lay deep on the path   | the snow stopped   | the sky was clear  | snow
        fog   | a thick fog came up   | the path could not be seen  | the fog was gone   | the fog was gone   | fog
        storm | a storm broke         | the trees shook in the wind | the storm was over | the storm was over | storm
        """,
    ),
    forms(
        "do did result",
        """
        hens    | feed the hens           | fed the hens            | the hens had been fed
        flowers | water the flowers       | watered the flowers     | the flowers had been watered
        floor   | sweep the kitchen floor | swept the kitchen floor | the kitchen floor was clean
        wood    | carry in the firewood   | carried in the firewood | the firewood lay beside the stove
        beans   | pick the beans          | picked the beans        | a big bowl of beans stood on the table
        windows | clean the windows       | cleaned the windows     | the windows were clean
        dishes  | wash the dishes         | washed the dishes       | the dishes stood on the shelf
        apples  | pick the apples         | picked the apples       | a basket of apples stood beside the door
        """,
    ),
    forms(
        "do",
        """
        play_ball | play ball in the park
        swim      | swim in the lake
        fly_kites | fly kites on the hill
        build     | build a hut in the forest
        fishing   | catch fish in the river
        flour     | carry the flour
        workshop  | sweep the workshop
        """,
    ),
    forms(
        "in freed",
        """
        net   | caught in a net              | opened the net
        fence | stuck in a fence             | opened the fence
        thorn | with a thorn in its foot     | pulled out the thorn
        mud   | stuck deep in the mud        | pulled it out of the mud
        """,
    ),
    forms(
        "new the noun",
        """
        scratching | a soft scratching    | the scratching | scratching
        crash      | a loud crash         | the crash      | crash
        rustling   | a soft rustling      | the rustling   | rustling
        cry        | a long, deep cry     | the cry        | cry
        bear       | a bear               | the bear       | bear
        ghost      | a ghost              | the ghost      | ghost
        wolf       | a wolf               | the wolf       | wolf
        monster    | a monster            | the monster    | monster
        giant      | a giant              | the giant      | giant
        firewood   | a basket of firewood | the basket     | basket
        crate      | a box of apples      | the box        | box
        """,
    ),
)

FACTS: frozenset[Fact] = features(
    """
    outdoors: garden, park, meadow, forest, beach, lake, river, hill
    country: meadow, forest, lake, river, hill
    windy: garden, park, meadow, hill, lake
    meeting: market, bridge, park, beach, lake
    room: kitchen, hall
    spot garden: under_tree, behind_shed, gate, grass
    spot park: fence, oak, grass
    spot meadow: grass, willow, stream, stone
    spot forest: oak, stream, stone
    spot beach: rocks, stone
    spot lake: willow, stone, rocks
    spot river: willow, rocks, under_bridge
    spot hill: oak, stone, grass
    high garden: apple_tree, shed_roof
    high park: oak_top
    high meadow: oak_top, barn_roof, willow_top
    high hill: oak_top, barn_roof
    high lake: willow_top
    tree: oak_top, willow_top, apple_tree
    corner attic: box, roof
    corner kitchen: table, stove
    corner barn: hay_heap, cart_corner
    corner shed: tools, box
    haunts mouse: attic, kitchen, shed
    haunts cat: attic, kitchen, barn, shed
    haunts owl: attic, barn
    haunts hedgehog: shed, barn
    makes mouse: scratching, rustling
    makes cat: crash
    makes owl: cry, rustling
    makes hedgehog: rustling, scratching
    noise: scratching, rustling, crash, cry
    dim: attic, kitchen, barn, shed
    terror: bear, ghost, wolf, monster, giant
    visits cat: garden, park, river
    visits dog: park, beach, river, meadow
    visits rabbit: garden, meadow, hill
    visits squirrel: garden, park, forest
    visits bird: garden, park, meadow, forest
    visits duck: lake, river
    store cookies: windowsill, table_top, low_shelf
    store pears: windowsill, low_shelf, basket_place
    store nuts: windowsill, table_top, basket_place
    store eggs: low_shelf, basket_place, table_top
    region: far_side, behind_hill, lakeside, across
    weather: rain, snow, fog, storm
    wet: rain, snow, storm
    shelter: old_barn, hut, old_mill
    task: hens, flowers, floor, wood, beans, windows, dishes, apples
    game: play_ball, swim, fly_kites, build, fishing
    employer: baker, farmer, gardener, miller, smith, carpenter
    chore baker: flour, floor
    chore farmer: hens, apples
    chore gardener: flowers, apples
    chore miller: flour
    chore smith: workshop
    chore carpenter: workshop
    plight bird: net
    plight duck: net, mud
    plight fox: fence, net, thorn
    plight dog: fence, thorn, mud
    plight donkey: mud, thorn
    wild: forest, mountains
    water: lake, river
    load: firewood, crate
    lends umbrella: park, market
    lends lantern: forest, barn
    lends mittens: park, garden, hill
    lends scarf: bridge, hill
    lends coat: lake, market, beach
    lends sledge: hill
    secret: under_bed, old_box, hay_heap
    bed: behind_house, garden_gate, window, shed_wall, garden_end
    """
)
