import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.pve.errors import ServerError
from e2e.pve.faults import FaultBook
from e2e.pve.tasks import Request, TaskBoard, Upid, parse_upid


def board(*faults: dict[str, object]) -> TaskBoard:
    book = FaultBook()
    for fault in faults:
        book.add(fault)
    return TaskBoard(book, usual_seconds=2.0)


def status(tasks, upid):
    found = tasks.find(str(upid))
    assert found is not None
    return found.exit_status


def start(tasks, done, name, now=100.0, subject="101", kind="qmconfig", **more):
    return tasks.start(Request("root@pam!x", now), "pve1", kind, subject, lambda: done.append(name), **more)


@given(
    st.builds(
        Upid,
        node=st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True),
        pid=st.integers(0, 2**32 - 1),
        pstart=st.integers(0, 2**32 - 1),
        started=st.integers(0, 2**32 - 1),
        kind=st.sampled_from(["qmclone", "imgcopy"]),
        subject=st.sampled_from(["", "101"]),
        user=st.sampled_from(["root@pam!capmox", "root@pam"]),
    )
)
def test_a_upid_has_nine_fields_and_reads_back(upid):
    assert len(str(upid).split(":")) == 9
    assert parse_upid(str(upid)) == upid


@pytest.mark.parametrize("text", ["", "UPID:pve1", "UPID:pve1:1:2:3:qmclone:101:root@pam:"])
def test_other_text_is_no_upid(text):
    with pytest.raises(ValueError, match="unable to parse worker upid"):
        parse_upid(text)


def test_a_task_works_when_its_time_has_come_and_not_before():
    tasks = board()
    done: list[str] = []
    upid = start(tasks, done, "a")
    tasks.advance(101.9)
    assert (done, status(tasks, upid)) == ([], None)
    tasks.advance(102.0)
    assert (done, status(tasks, upid)) == (["a"], "OK")


def test_tasks_of_one_vm_run_one_after_the_other_and_of_two_side_by_side():
    tasks = board()
    done: list[str] = []
    start(tasks, done, "first")
    start(tasks, done, "second")
    start(tasks, done, "other", subject="102")
    tasks.advance(102.0)
    assert sorted(done) == ["first", "other"]
    tasks.advance(103.9)
    assert len(done) == 2
    tasks.advance(104.0)
    assert done[-1] == "second"


def test_a_refusal_in_the_work_is_the_exit_status_and_the_undo_runs():
    tasks, undone = board(), []

    def refuse() -> None:
        raise ServerError("VM is locked (clone)")

    upid = tasks.start(Request("u", 0), "pve1", "qmstart", "101", refuse, undo=lambda: undone.append(1))
    tasks.advance(9)
    assert (status(tasks, upid), undone) == ("VM is locked (clone)", [1])


def test_a_fault_fails_the_task_in_place_of_its_work():
    tasks = board({"kind": "task-fails", "task": "qmclone", "message": "no space"})
    done: list[str] = []
    doomed = start(tasks, done, "a", kind="qmclone", undo=lambda: done.append("undone"))
    spared = start(tasks, done, "b", kind="qmclone")
    tasks.advance(200)
    assert done == ["undone", "b"]
    assert (status(tasks, doomed), status(tasks, spared)) == ("no space", "OK")


def test_a_fault_makes_a_task_slow():
    tasks = board({"kind": "task-slow", "task": "qmconfig", "seconds": 30})
    done: list[str] = []
    start(tasks, done, "a")
    tasks.advance(129)
    assert done == []
    tasks.advance(130)
    assert done == ["a"]
