"""JSON of the API server: what is read of it, and what is said of bytes that are none."""

import pytest

from provider.edge.kube.documents import NoJson, read_event, read_list, read_whole, to_json

METADATA = {"name": "a", "labels": {"x": "y"}, "resourceVersion": "7"}
OBJECT = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": METADATA,
    "spec": {"any": [1, None, {"deep": True}]},
    "status": {},
}
STORED = {**OBJECT, "metadata": {**METADATA, "managedFields": [{"manager": "somebody"}]}}


def test_lists_come_without_managed_fields_and_with_all_else():
    whole = {"kind": "ThingList", "metadata": {"resourceVersion": "9", "continue": "more"}, "items": [STORED]}
    assert read_list(to_json(whole)) == {"metadata": whole["metadata"], "items": [OBJECT]}
    assert read_list(b'{"metadata": {}, "items": null}') == {"metadata": {}, "items": None}


def test_events_too_and_the_status_that_ends_a_watch():
    assert read_event(to_json({"type": "ADDED", "object": STORED})) == {"type": "ADDED", "object": OBJECT}
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    assert read_event(to_json({"type": "ERROR", "object": gone}))["object"] == gone


def test_single_objects_are_whole():
    assert read_whole(to_json(STORED)) == STORED


@pytest.mark.parametrize("text", [b"", b"<html>", b'{"a": ', b"[1]", b'"text"'])
def test_what_is_no_object_is_said_to_be_none(text: bytes):
    with pytest.raises(NoJson):
        read_whole(text)
