"""No name can break out of a CEL text."""

import codecs

from hypothesis import example, given
from hypothesis import strategies as st

from provider.core.admission import cel


@given(st.text(max_size=40))
@example("'; true || '")
@example('"\\')
@example("\n\r\t\0\U0001f600")
def test_a_literal_is_what_was_put_in_and_nothing_else(value: str) -> None:
    literal = cel.text(value)
    inner = literal[1:-1]
    assert literal == f"'{inner}'"
    assert literal.isascii()
    assert literal.isprintable()
    assert "'" not in inner
    assert '"' not in inner
    # The one escape that is used means the same to Python.
    assert codecs.decode(inner, "unicode_escape") == value


def test_lists_and_choices():
    assert cel.texts(["a", "b"]) == "['a', 'b']"
    assert cel.either([]) == "(false)"
    assert cel.either(["a", "b"]) == "(a || b)"
    assert cel.first_true([("a", "1"), ("b", "2")], "3") == "((a) ? (1) : (b) ? (2) : (3))"
