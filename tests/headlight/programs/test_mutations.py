"""Lines with one mistake: each is another line that can be read."""

from headlight.programs.mutations import mutations


def test_mutations_of_a_line_leave_all_else_as_it_is_written():
    line = "x = aggregate(select(indices, tokens, lambda key, query: key == query - 1), tokens)"
    assert mutations(line) == [
        "x = aggregate(select(tokens, indices, lambda key, query: key == query - 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key != query - 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key == query + 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key == query - 2), tokens)",
    ]
    line = "größe = map(lambda a,b: (a+'é') if (a) in ('x', \"ü\") else b -2, tokens, indices)"
    assert mutations(line) == [
        line.replace("in (", "not in ("),
        line.replace("a+", "a-"),
        line.replace("-2", "+2"),
        line.replace("-2", "-3"),
    ]
    assert mutations("x = aggregate(same, tokens)") == []
    assert mutations("x = map(lambda x: , tokens)") == mutations("") == mutations("x = " + "(" * 500) == []
