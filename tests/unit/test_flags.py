"""The command line: what it means, and one clear line for what is wrong."""

import pytest

from provider.flags import Flags, parse


def test_without_flags_it_answers_everything_and_waits_for_the_lease():
    assert parse([]) == Flags(
        kubeconfig=None, context=None, namespace=None, pools="all", leader_elect=True, lease_namespace=None,
        health_address=":9440", metrics_address=":8080", log_format="console", log_level="info", workers=48,
        admission=True, exempt_namespaces=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--pools=networks"], "pools", "networks"),
        (["--no-leader-elect"], "leader_elect", False),
        (["--health-address", "127.0.0.1:0"], "health_address", "127.0.0.1:0"),
        (["--metrics-address", "[::1]:8080"], "metrics_address", "[::1]:8080"),
        (["--metrics-address", ""], "metrics_address", ""),
        (["--workers", "500"], "workers", 500),
        (["--log-format=json"], "log_format", "json"),
        (["--admission", "off"], "admission", False),
        (["--exempt-namespaces", "kube-system,platform"], "exempt_namespaces", ("kube-system", "platform")),
        (["--exempt-namespaces", ""], "exempt_namespaces", ()),
    ],
)
def test_a_flag_is_read(arguments, field, value):
    assert getattr(parse(arguments), field) == value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "0"], ["--workers", "'0'", "1 to 500"]),
        (["--workers", "\N{SUPERSCRIPT TWO}"], ["--workers", "1 to 500"]),
        (["--admission", "maybe"], ["--admission", "'maybe'", "off"]),
        (["--exempt-namespaces", "one,Two"], ["--exempt-namespaces", "'Two'"]),
        (["--workers"], ["--workers", "expected one argument"]),
        (["--pools=some"], ["--pools", "'some'", "networks"]),
        (["--metrics-address", "8080"], ["--metrics-address", "'8080'", ":8080"]),
        (["--health-address", "::1:9440"], ["--health-address", "'::1:9440'"]),
        (["--health-address", ""], ["--health-address", "''"]),
        (["--health-address", ":65536"], ["--health-address", "65536"]),
        (["--work", "3"], ["--work"]),
        (["--flavour", "sweet"], ["--flavour"]),
    ],
)
def test_a_wrong_flag_gets_one_line_and_status_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert all(word in err for word in words), err
