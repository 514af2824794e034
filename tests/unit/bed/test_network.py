"""Names and numbers of a bed's network; the network itself is tried in tests/api."""

import pytest

from e2e.bed.errors import NetworkError
from e2e.bed.network import Addresses, bed_address, bed_namespace, hardware_address


def test_names_follow_from_the_number() -> None:
    assert bed_namespace(7) == "pxbed-7"
    assert bed_address(7, 254) == "10.213.7.254"
    assert hardware_address(7, 254) == "02:0a:d5:07:00:fe"
    # The cable has the namespace's name, and an interface's name has at most 15 characters.
    assert len(bed_namespace(63)) <= 15


def test_a_freed_number_rests_as_long_as_others_are_free() -> None:
    numbers = Addresses(10, 13)
    assert [numbers.take(), numbers.take()] == [10, 11]
    numbers.give_back(10)
    assert [numbers.take(), numbers.take(), numbers.take()] == [12, 13, 10]


def test_all_taken_is_an_error_and_one_given_back_is_found() -> None:
    numbers = Addresses(10, 12)
    assert [numbers.take() for _ in range(3)] == [10, 11, 12]
    with pytest.raises(NetworkError, match="all 3 pod addresses"):
        numbers.take()
    numbers.give_back(11)
    assert numbers.take() == 11
