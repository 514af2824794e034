"""Every attack is refused with the words that help its author, and its honest twin passes."""

import pytest

from tests.attacks.attempts import OLD, Attempt, attempts
from tests.attacks.ground import NAMESPACES, Ground

PAIRS = [*attempts()]
OLD_PAIRS = [*attempts(OLD)]


def slug(attempt: Attempt) -> str:
    return f"{attempt.theme}-{attempt.name}".replace(" ", "-").replace("'", "")


@pytest.mark.parametrize(("attack", "twin"), PAIRS, ids=[slug(attack) for attack, _ in PAIRS])
def test_attack_is_refused_and_its_twin_passes(ground: Ground, attack: Attempt, twin: Attempt) -> None:
    judge(ground, attack, twin, f"attempt-{PAIRS.index((attack, twin))}")


@pytest.mark.parametrize(("attack", "twin"), OLD_PAIRS, ids=[slug(attack) for attack, _ in OLD_PAIRS])
def test_with_capmox_07_too(old_ground: Ground, attack: Attempt, twin: Attempt) -> None:
    judge(old_ground, attack, twin, f"old-{OLD_PAIRS.index((attack, twin))}")


def judge(ground: Ground, attack: Attempt, twin: Attempt, name: str) -> None:
    refused = ground.run(attack, f"{name}-a")
    assert not refused.accepted, f"{attack.name}: was accepted"
    assert attack.says is not None
    says = attack.says
    for key, value in {**NAMESPACES, "name": f"{name}-a"}.items():
        says = says.replace(f"{{{key}}}", value)
    assert says in refused.message
    passed = ground.run(twin, f"{name}-t")
    assert passed.accepted, f"{twin.name}, the honest twin: {passed.code} {passed.message}"
