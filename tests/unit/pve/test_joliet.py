"""The ISO reader, against images of two makers: pycdlib here, and capmox's own library (an image it made is kept)."""

import gzip
from io import BytesIO
from pathlib import Path

import pycdlib
import pytest

from e2e.pve.joliet import SECTOR, IsoError, read_files

CAPMOX_IMAGE = Path(__file__).parent / "data" / "go-diskfs.iso.gz"


def image(files: dict[str, bytes], *, joliet: bool = True) -> bytes:
    iso = pycdlib.PyCdlib()
    iso.new(joliet=3 if joliet else None)
    for index, (name, content) in enumerate(files.items()):
        long_path = f"/{name}" if joliet else None
        iso.add_fp(BytesIO(content), len(content), f"/F{index}.;1", joliet_path=long_path)
    if joliet:
        iso.add_directory("/SUB", joliet_path="/sub")
    out = BytesIO()
    iso.write_fp(out)
    iso.close()
    return out.getvalue()


def test_files_are_read_under_their_long_names_and_directories_are_not():
    files = {"user-data": b"#cloud-config\n", "meta-data": b"", "network-config": b"x" * 5000}
    assert read_files(image(files)) == files


def test_a_directory_of_several_sectors_is_read_whole():
    files = {f"a-file-with-a-long-name-{index:03}": bytes([index]) for index in range(120)}
    assert read_files(image(files)) == files


def test_an_image_of_capmoxs_own_library_is_read():
    files = read_files(gzip.decompress(CAPMOX_IMAGE.read_bytes()))
    assert sorted(files) == ["meta-data", "network-config", "user-data"]
    assert files["meta-data"] == b"instance-id: abc\nlocal-hostname: one-m1\n"
    assert files["user-data"].startswith(b"#cloud-config\n")
    assert len(files["user-data"]) == 4514


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (b"", "the image ends at byte 0"),
        (bytes(40 * SECTOR), "not an ISO 9660 image"),
        (image({"f": b"1"}, joliet=False), "no Joliet"),
        (image({"f": b"1"})[: 19 * SECTOR], "the image ends at byte"),
    ],
)
def test_what_is_no_joliet_image_is_refused(broken, fault):
    with pytest.raises(IsoError, match=fault):
        read_files(broken)
