import pytest

from e2e.pve.faults import FaultBook, FaultError


def test_a_fault_is_spent_by_what_it_fits_alone():
    book = FaultBook()
    book.add({"kind": "task-fails", "task": "qm*", "message": "broken", "times": 2})
    assert book.failure_of_task("imgcopy") is None
    assert [book.failure_of_task("qmstart") for _ in range(3)] == ["broken", "broken", None]
    assert book.left() == []


def test_a_refused_request_is_matched_by_method_and_path():
    book = FaultBook()
    upload = {"method": "POST", "path": "/nodes/*/storage/*/upload"}
    book.add({"kind": "request-refused", "status": 500, "message": "disk full", **upload})
    assert book.refusal_of_request("GET", "/nodes/pve1/storage/local/upload") is None
    refusal = book.refusal_of_request("POST", "/nodes/pve1/storage/local/upload")
    assert refusal is not None
    assert (refusal.status, refusal.message) == (500, "disk full")
    assert book.refusal_of_request("POST", "/nodes/pve1/storage/local/upload") is None


def test_clear_forgets_all():
    book = FaultBook()
    book.add({"kind": "task-slow", "task": "qmstart", "seconds": 1.5})
    book.clear()
    assert book.seconds_of_task("qmstart") is None


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ([], "is an object"),
        ({}, "kind: None"),
        ({"kind": ["x"]}, "kind: "),
        ({"kind": "task-fails", "task": "qmstart"}, "message: a task-fails fault needs it"),
        ({"kind": "task-fails", "task": "qmstart", "message": "a\nb"}, "one line"),
        ({"kind": "task-slow", "task": "qmstart", "seconds": True}, "seconds"),
        ({"kind": "task-slow", "task": "qmstart", "seconds": 1, "times": 0}, "times: 0"),
        ({"kind": "task-slow", "task": "qmstart", "seconds": 1, "status": 500}, "status: not a field"),
    ],
)
def test_what_is_no_fault_is_refused(wanted, fault):
    with pytest.raises(FaultError, match=fault):
        FaultBook().add(wanted)
