"""Files are dealt out so that workers end together, and those of the browser stay with one."""

from tests.schedule import arranged


def test_each_worker_gets_about_as_much_and_the_longest_come_first():
    seconds = {"long": 9.0, "longer": 10.0, "short": 1.0, "shorter": 0.5, "middle": 4.0, "browser": 6.0, "page": 2.0}
    order = arranged(seconds, ["page", "browser"], 3)
    assert sorted(order) == sorted(seconds)
    assert order == ["browser", "page", "middle", "longer", "shorter", "long", "short"]
    assert arranged(seconds, [], 1) == sorted(seconds, key=lambda name: -seconds[name])
