"""What lines the process writes, from a process of its own: logging is global."""

import json
import subprocess
import sys

SPEAK = """
import logging, sys
import structlog
from provider.edge.logs import configure
configure(sys.argv[1], sys.argv[2])
log = structlog.get_logger("pxnet.claims")
with structlog.contextvars.bound_contextvars(claim="tenant/web-0"):
    log.info("answered", address="10.0.0.5")
    logging.getLogger("kopf.objects").warning("a word of %s", "kopf")
    log.debug("in detail")
try:
    raise ValueError("broken")
except ValueError:
    log.exception("failed")
"""


def lines(level, style):
    done = subprocess.run([sys.executable, "-c", SPEAK, level, style], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_json_is_one_object_a_line_with_the_claim_and_other_libraries_words():
    answered, kopf, failed = map(json.loads, lines("info", "json"))
    assert (answered["event"], answered["level"], answered["claim"], answered["address"]) == (
        "answered", "info", "tenant/web-0", "10.0.0.5",
    )  # fmt: skip
    assert (kopf["event"], kopf["logger"], kopf["claim"]) == ("a word of kopf", "kopf.objects", "tenant/web-0")
    assert "claim" not in failed
    assert failed["exception"][0]["exc_value"] == "broken"


def test_the_level_decides_what_is_written():
    assert [json.loads(line)["event"] for line in lines("debug", "json")] == [
        "answered", "a word of kopf", "in detail", "failed",
    ]  # fmt: skip
    assert [json.loads(line)["event"] for line in lines("error", "json")] == ["failed"]


def test_console_lines_read_without_colours_when_nobody_looks():
    first = lines("info", "console")[0]
    assert "answered" in first
    assert "claim=tenant/web-0" in first
    assert "\x1b" not in first
