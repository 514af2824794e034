"""Metrics as a scrape over HTTP sees them."""

import socket
import urllib.request
from contextlib import contextmanager

import pytest

from provider.edge.metrics import Metrics


@contextmanager
def scraped(metrics):
    stop = metrics.serve("127.0.0.1", 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=5) as answer:
            yield answer.read().decode().splitlines()
    finally:
        stop()


def test_what_happened_is_in_the_scrape():
    metrics = Metrics()
    metrics.claim_answered("AddressAllocated", 0.3)
    metrics.claim_answered("PoolExhausted", 400.0)
    metrics.claim_released()
    metrics.block_written(17)
    metrics.block_lost("Conflict")
    metrics.api_request("PATCH", "ipaddressclaims", 409, 0.02)
    metrics.event_dropped()
    metrics.leading(True)
    with scraped(metrics) as lines:
        assert {
            'pxnet_claim_answers_total{reason="AddressAllocated"} 1.0',
            'pxnet_claim_answers_total{reason="PoolExhausted"} 1.0',
            "pxnet_claim_answer_seconds_count 1.0",  # a claim that waits was not answered yet
            "pxnet_claim_answer_seconds_sum 0.3",
            "pxnet_claim_releases_total 1.0",
            'pxnet_block_writes_total{result="written"} 1.0',
            'pxnet_block_writes_total{result="Conflict"} 1.0',
            "pxnet_block_write_entries_sum 17.0",
            'pxnet_api_request_seconds_count{code="409",kind="ipaddressclaims",verb="PATCH"} 1.0',
            "pxnet_events_dropped_total 1.0",
            "pxnet_leader 1.0",
        } <= set(lines)


def test_the_series_of_an_object_end_with_it():
    metrics, waiting = Metrics(), {"book/a": 2, "book/b": 1}
    metrics.watch("pxnet_waiting_claims", "Waiting.", "book", lambda: waiting)

    def value(book):
        return metrics.registry.get_sample_value("pxnet_waiting_claims", {"book": book})

    assert (value("book/a"), value("book/b")) == (2, 1)
    del waiting["book/a"]
    assert (value("book/a"), value("book/b")) == (None, 1)


def test_a_later_reading_of_a_name_takes_the_place_of_the_earlier():
    metrics = Metrics()
    metrics.watch("pxnet_queue_depth", "Depth.", "queue", lambda: {"claims": 1})
    metrics.watch("pxnet_queue_depth", "Depth.", "queue", lambda: {"claims": 2})
    assert metrics.registry.get_sample_value("pxnet_queue_depth", {"queue": "claims"}) == 2


def test_an_address_in_use_is_an_os_error():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        Metrics().serve("127.0.0.1", taken.getsockname()[1])
