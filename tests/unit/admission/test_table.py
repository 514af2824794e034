"""Lines of the namespace annotation: what is written is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.core.addresses import Family
from provider.core.admission.table import Line, TableError, line, read, write
from tests.unit.networks.cases import BLUE, offer, span

NAME = st.from_regex("[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
WORDS = st.lists(NAME, min_size=1, max_size=2).map(tuple)
LINES = st.builds(Line, NAME, NAME, st.from_regex("[A-Za-z0-9_]{1,15}", fullmatch=True),
                  st.none() | st.integers(1, 4094), WORDS, WORDS)  # fmt: skip


@given(st.lists(LINES, max_size=16))
def test_what_is_written_is_read(lines: list[Line]) -> None:
    value = write(lines)
    assert sorted(map(str, read(value))) == sorted(map(str, lines))
    assert write(reversed(lines)) == value
    assert (value is None) == (not lines)


def test_a_network_in_one_line():
    six = span("fd00:8::/64", prefix=64, gateway=None, family=Family.IPv6)
    dual = offer(span("10.0.0.10-10.0.0.20"), six)
    assert str(line(BLUE, dual)) == "lab blue vmbr7 107 blue-inet,blue-inet6 10.0.0.0/24,fd00:8::/64"
    assert str(line(BLUE, offer(six, vlan=None))) == "lab blue vmbr7 - blue-v6 fd00:8::/64"


@pytest.mark.parametrize("value", ["lab blue", "lab blue vmbr7 ten a b", "lab blue  107 a b", "lab blue vmbr7 1 a b c"])
def test_what_pxnet_did_not_write_is_said(value):
    with pytest.raises(TableError, match=value):
        read(value)
