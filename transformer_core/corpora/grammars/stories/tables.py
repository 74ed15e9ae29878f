"""Tables of words in text: a row a line, cells between bars."""

Fact = tuple[str, ...]  # ("has", "Mia", "ball")
Forms = dict[str, dict[str, str]]  # form: word: how it is said


def rows(table: str) -> list[list[str]]:
    """The cells of a table, one list a line."""
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def forms(names: str, table: str) -> Forms:
    """Read a table whose first column is the word and whose other columns are its forms; "-" is no form."""
    all_forms: Forms = {name: {} for name in names.split()}
    for word, *cells in rows(table):
        for name, cell in zip(names.split(), cells, strict=True):
            if cell != "-":
                all_forms[name][word] = cell
    return all_forms


def features(table: str) -> frozenset[Fact]:
    """Read what is always so: a feature, a colon, and who or what has it ("toy: ball kite", "eats cat: milk fish")."""
    facts = set()
    for line in table.strip().splitlines():
        head, _, players = line.partition(":")
        facts |= {(*head.split(), player.strip()) for player in players.split(",")}
    return frozenset(facts)


def merged(*tables: Forms) -> Forms:
    """All forms of several tables; the same form may have words in each of them."""
    all_forms: Forms = {}
    for table in tables:
        for form, words in table.items():
            all_forms.setdefault(form, {}).update(words)
    return all_forms
