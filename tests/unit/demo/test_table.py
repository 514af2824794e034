"""The demo's table says what the objects say."""

import io
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from e2e.demo.news import changes
from e2e.demo.screen import Screen, machine_table
from e2e.demo.table import FAILED, PHASES, Answer, Seen, rows

NOW = datetime(2030, 1, 1, 0, 0, 9, tzinfo=UTC)


def machine(name: str = "m1", reason: str = "Cloning", provisioned: bool = False) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "team", "name": name, "labels": {"cluster.x-k8s.io/cluster-name": "shop"}},
        "spec": {"network": {"networkDevices": [{"name": "net0", "bridge": "vmbr7", "vlan": 107}]}},
        "status": {
            "proxmoxNode": "pve1",
            "initialization": {"provisioned": provisioned},
            "conditions": [{"type": "VirtualMachineProvisioned", "reason": reason}],
        },
    }


def claim(answered: bool) -> dict[str, Any]:
    status = {"addressRef": {"name": "m1-net0-00-inet"}} if answered else {}
    return {
        "metadata": {
            "namespace": "team",
            "name": "m1-net0-00-inet",
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "ProxmoxMachine", "name": "m1", "controller": True}],
        },
        "status": status,
    }


ADDRESS = {"metadata": {"namespace": "team", "name": "m1-net0-00-inet"}, "spec": {"address": "10.0.0.5"}}
ANSWER = {("team", "m1-net0-00-inet"): Answer(1.0, 1.25)}


def test_a_machine_without_a_claim():
    (row,) = rows(Seen([machine()]), NOW)
    assert (row.cluster, row.bridge, row.vlan, row.node) == ("shop", "vmbr7", "107", "pve1")
    assert (row.addresses, row.claim_age, row.answered, row.phase) == ((), None, False, "cloning")


def test_a_claim_that_waits_and_one_that_is_answered():
    (waits,) = rows(Seen([machine()], [claim(False)]), NOW)
    assert (waits.claim_age, waits.answered) == (9, False)
    (has,) = rows(Seen([machine(provisioned=True)], [claim(True)], [ADDRESS], ANSWER), NOW)
    assert (has.addresses, has.answered, has.answered_ms, has.ready) == (("10.0.0.5",), True, 250.0, True)
    assert [*changes([waits], [has])] == [
        "team/m1: claim answered in 250 ms: 10.0.0.5",
        "team/m1: running on pve1, vmbr7 VLAN 107",
    ]


def test_a_failed_task_is_not_the_end():
    (row,) = rows(Seen([machine(reason="TaskFailed")]), NOW)
    assert row.phase != FAILED
    (row,) = rows(Seen([machine(reason="VMProvisionFailed")]), NOW)
    assert row.phase == FAILED


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    screen = Screen(stream)
    screen.chapter("Title", "why")
    screen.console.print(machine_table(rows(Seen([machine()], [claim(True)], [ADDRESS], ANSWER), NOW)))
    text = stream.getvalue()
    assert "\x1b" not in text
    assert "vmbr7" in text
    assert "10.0.0.5" in text


def test_the_table_fits_a_terminal_of_80_columns():
    stream = io.StringIO()
    longest = max(PHASES, key=lambda reason: len(PHASES[reason]))
    item = machine("shop-control-plane-x7k2m", longest)
    asked = claim(True)
    asked["metadata"]["ownerReferences"][0]["name"] = item["metadata"]["name"]
    address = {**ADDRESS, "spec": {"address": "fd00:108::20"}}
    Console(file=stream, width=80).print(machine_table(rows(Seen([item], [asked], [address], ANSWER), NOW), 80))
    text = stream.getvalue()
    assert "…" not in text
    for shown in ("shop", "control-plane-x7k2m", "vmbr7", "107", "fd00:108::20", "9 s, in 250 ms", PHASES[longest]):
        assert shown in text
