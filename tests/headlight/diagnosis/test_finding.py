"""Numbers as a person reads them, computed by hand."""

from headlight.diagnosis.finding import count, nats, number, percent, setting, times


def test_numbers():
    amounts = [str(nats(value)) for value in (0.0, 2.345, 0.0123, 0.00001, 1234.5, 1e30)]
    assert amounts == ["0.00 nats", "2.35 nats", "0.012 nats", "1.0e-05 nats", "1,234.50 nats", "1.0e+30 nats"]
    assert str(number(3)) == "3.00"
    assert [str(count(n)) for n in (7, 12_345, 1_500_000, 2e9)] == ["7", "12,345", "1.5 million", "2.0 billion"]
    assert [str(percent(s)) for s in (0, 0.5, 0.997, 1, 0.004)] == ["0%", "50%", "99.7%", "100%", "0.4%"]
    assert [str(times(r)) for r in (1, 2.34, 40, 1e7)] == ["once", "2.3 times", "40 times", "10.0 million times"]
    assert [str(setting(v)) for v in (0.4123, 30, 0.00312)] == ["0.41", "30", "0.0031"]
