"""`myxtts-data download` against a local server: whole, resumed, through faults; and archives that mean harm."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from pipelines.cli import cli
from pipelines.download import fetch as fetching
from pipelines.download.archives import ARCHIVES, Archive
from pipelines.download.download import download
from pipelines.download.fetch import PARTIAL, fetch
from pipelines.download.unpack import TEMPORARY, unpack
from preprocess.corpora.ljspeech import LJSpeech
from shared.errors import UserError
from tests.pipelines.download.archive_server import ArchiveServer, serving

CORPUS = Path("tests/corpora/english")
NAME = "LJSpeech-1.1.tar.bz2"


def corpus_archive() -> bytes:
    """The English sample corpus as LJSpeech is packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:bz2") as members:
        members.add(CORPUS, "LJSpeech-1.1")
    return packed.getvalue()


def described(content: bytes, *, url: str = "http://nowhere", name: str = NAME, **fields: object) -> Archive:
    values = {"folder": "LJSpeech-1.1", "reader": "ljspeech", "licence": "public domain", "hours": 0.1, **fields}
    digest = hashlib.sha256(content).hexdigest()
    return Archive(url=f"{url}/{name}", size_bytes=len(content), sha256=digest, **values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def packed() -> bytes:
    return corpus_archive()


@pytest.fixture
def server(packed: bytes) -> Iterator[ArchiveServer]:
    with serving(packed) as one:
        yield one


@pytest.fixture
def archive(server: ArchiveServer) -> Archive:
    return described(server.content, url=server.url)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PAUSES_S", (0.0, 0.0))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_downloaded_corpus_is_that_of_the_archive_and_its_reader_reads_it(archive: Archive, tmp_path: Path) -> None:
    folder = download(archive, to=tmp_path)
    assert folder == tmp_path / "LJSpeech-1.1"
    assert files(folder) == files(CORPUS)
    assert list(tmp_path.iterdir()) == [folder]
    config = LJSpeech(reader="ljspeech", root=folder, language="en", weight=1.0)
    assert len(list(config.utterances(name="lj"))) == len((CORPUS / "metadata.csv").read_text().splitlines())


def test_a_corpus_that_is_there_is_not_asked_for(archive: Archive, server: ArchiveServer, tmp_path: Path) -> None:
    download(archive, to=tmp_path, keep_archive=True)
    assert (tmp_path / NAME).read_bytes() == server.content
    download(archive, to=tmp_path)
    assert len(server.asked) == 1


def test_an_archive_that_is_there_is_only_unpacked(packed: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(packed)
    assert files(download(described(packed), to=tmp_path)) == files(CORPUS)


def test_a_download_goes_on_where_it_stopped(archive: Archive, server: ArchiveServer, tmp_path: Path) -> None:
    half = len(server.content) // 2
    (tmp_path / f"{NAME}{PARTIAL}").write_bytes(server.content[:half])
    assert fetch(archive, to=tmp_path).read_bytes() == server.content
    assert server.asked == [f"bytes={half}-"]
    assert server.sent_bytes == len(server.content) - half


def test_a_connection_that_ends_early_again_and_again_is_made_again(
    archive: Archive, server: ArchiveServer, tmp_path: Path
) -> None:
    server.breaks_after = len(server.content) // 7
    reported: list[int] = []
    assert fetch(archive, to=tmp_path, report=reported.append).read_bytes() == server.content
    assert 8 <= len(server.asked) <= 10
    assert server.sent_bytes < len(server.content) + len(server.asked) * fetching.CHUNK_BYTES
    assert reported == sorted(reported)
    assert reported[-1] == len(server.content)


def test_a_server_without_ranges_sends_the_file_anew(archive: Archive, server: ArchiveServer, tmp_path: Path) -> None:
    server.knows_ranges = False
    (tmp_path / f"{NAME}{PARTIAL}").write_bytes(b"x" * 1000)
    assert fetch(archive, to=tmp_path).read_bytes() == server.content


def test_a_busy_server_is_asked_again(archive: Archive, server: ArchiveServer, tmp_path: Path) -> None:
    server.failures = [503, 429]
    assert fetch(archive, to=tmp_path).read_bytes() == server.content
    assert len(server.asked) == 3


def test_a_server_that_never_answers_ends_the_download_which_keeps_what_it_has(
    archive: Archive, server: ArchiveServer, tmp_path: Path
) -> None:
    partial = tmp_path / f"{NAME}{PARTIAL}"
    partial.write_bytes(server.content[:1000])
    server.failures = [500] * 10
    with pytest.raises(UserError, match=r"HTTP 500; 1,000 of [\d,]+ bytes are kept, and the same command continues"):
        fetch(archive, to=tmp_path)
    assert partial.read_bytes() == server.content[:1000]
    assert len(server.asked) == 3


def test_a_server_that_answers_with_nothing_ends_the_download(
    archive: Archive, server: ArchiveServer, tmp_path: Path
) -> None:
    server.breaks_after, server.tells_length = 0, False
    with pytest.raises(UserError, match="the server sends nothing; 0 of"):
        fetch(archive, to=tmp_path)
    assert len(server.asked) == 3


def test_a_server_that_cannot_be_reached_is_told(packed: bytes, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"127\.0\.0\.1"):
        fetch(described(packed, url="http://127.0.0.1:9"), to=tmp_path)


def test_a_file_that_is_gone_is_told_at_once(archive: Archive, server: ArchiveServer, tmp_path: Path) -> None:
    server.failures = [404]
    with pytest.raises(UserError, match="HTTP 404; expected the archive of the corpus"):
        fetch(archive, to=tmp_path)
    assert len(server.asked) == 1


def test_a_file_of_another_size_is_refused_before_it_is_downloaded(server: ArchiveServer, tmp_path: Path) -> None:
    other = described(server.content + b"more", url=server.url)
    with pytest.raises(UserError, match="it is another file than the one whose sha256 is known"):
        fetch(other, to=tmp_path)
    assert (tmp_path / f"{NAME}{PARTIAL}").stat().st_size == 0


def test_a_file_with_another_sha256_is_deleted(server: ArchiveServer, tmp_path: Path) -> None:
    other = described(server.content[:-1] + b"!", url=server.url)
    with pytest.raises(UserError, match=r"has sha256 \w{64}; expected \w{64}; the download was deleted"):
        download(other, to=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_told_before_the_download(
    archive: Archive, server: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=int(2.5 * archive.size_bytes)))
    with pytest.raises(UserError, match=r"GB are free; .* GB are needed for archive and corpus"):
        download(archive, to=tmp_path)
    assert server.asked == []
    (tmp_path / f"{NAME}{PARTIAL}").write_bytes(server.content[: len(server.content) // 5])
    download(archive, to=tmp_path)  # what is there needs no room


def test_two_downloads_into_one_folder_do_not_disturb_each_other(archive: Archive, tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(UserError, match="another process downloads into it"):
        download(archive, to=tmp_path)
    os.close(held)
    download(archive, to=tmp_path)


def test_a_folder_that_cannot_be_made_is_told(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file.*what was downloaded is kept"):
        download(archive, to=tmp_path / "file")


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        for member, content in members:
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def member(name: str, *, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "harm",
    [
        member("../outside"),
        member("LJSpeech-1.1/../../outside"),
        member("LJSpeech-1.1/link", kind=tarfile.SYMTYPE, link="../../outside"),
        member("LJSpeech-1.1/link", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member("LJSpeech-1.1/hard", kind=tarfile.LNKTYPE, link="../../outside"),
        member("LJSpeech-1.1/device", kind=tarfile.CHRTYPE),
        member("LJSpeech-1.1/pipe", kind=tarfile.FIFOTYPE),
    ],
    ids=lambda harm: f"{harm.name} {harm.linkname}".strip(),
)
def test_an_archive_that_reaches_outside_or_makes_devices_is_refused(harm: tarfile.TarInfo, tmp_path: Path) -> None:
    to = tmp_path / "inside" / "data"
    to.mkdir(parents=True)
    content = tar_of((member("LJSpeech-1.1/metadata.csv"), b"a|b\n"), (harm, b""))
    path = to / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be unpacked"):
        unpack(path, archive=described(content * 100), to=to)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]
    assert list(to.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside", "..\\outside"])
def test_a_zip_whose_members_lie_outside_is_refused(name: str, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("txt/p1.txt", "hello")
        file.writestr(name, "harm")
    path = tmp_path / "x.zip"
    path.write_bytes(packed.getvalue())
    with pytest.raises(UserError, match="lies outside of the corpus' folder"):
        unpack(path, archive=described(packed.getvalue(), has_folder=False), to=tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_an_archive_that_unpacks_to_more_than_its_bound_is_refused(kind: str, tmp_path: Path) -> None:
    zeros = bytes(10_000_000)
    path = tmp_path / f"x.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("LJSpeech-1.1/a", zeros)
    else:
        path.write_bytes(tar_of((member("LJSpeech-1.1/a"), zeros)))
    with pytest.raises(UserError, match="unpacks to more bytes than a corpus of its size has"):
        unpack(path, archive=described(path.read_bytes()), to=tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kept", [0, 10, 1000, -1000])
def test_an_archive_that_is_cut_off_is_told(packed: bytes, kept: int, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(packed[:kept])
    with pytest.raises(UserError, match="cannot be unpacked"):
        unpack(path, archive=described(packed), to=tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_of_another_corpus_is_told(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(packed)
    with pytest.raises(UserError, match="has no folder Other"):
        unpack(path, archive=described(packed, folder="Other"), to=tmp_path)


def test_subsets_of_a_corpus_share_its_folder(tmp_path: Path) -> None:
    left = tmp_path / f"{TEMPORARY}killed"
    left.mkdir()
    for subset in ("a", "b"):
        speakers = (member("LibriTTS/speakers.tsv"), subset.encode())
        content = tar_of((member(f"LibriTTS/{subset}/1/2/3.wav"), subset.encode()), speakers)
        (tmp_path / f"{subset}.tar.gz").write_bytes(content)
        archive = described(content * 100, folder=f"LibriTTS/{subset}")
        assert unpack(tmp_path / f"{subset}.tar.gz", archive=archive, to=tmp_path) == tmp_path / "LibriTTS" / subset
    assert files(tmp_path / "LibriTTS") == {"a/1/2/3.wav": b"a", "b/1/2/3.wav": b"b", "speakers.tsv": b"a"}
    assert not left.exists()


def test_an_archive_without_a_folder_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "VCTK.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("txt/p1/p1_001.txt", "hello")
    archive = described(path.read_bytes(), folder="VCTK-Corpus-0.92", has_folder=False)
    assert files(unpack(path, archive=archive, to=tmp_path)) == {"txt/p1/p1_001.txt": b"hello"}


def test_every_archive_has_a_digest_a_size_and_a_secure_address() -> None:
    for archive in ARCHIVES.values():
        assert re.fullmatch("[0-9a-f]{64}", archive.sha256)
        assert archive.size_bytes > 100_000_000
        assert archive.url.startswith("https://")
        assert archive.url.endswith((".tar.bz2", ".tar.gz", ".zip"))
    assert len({archive.sha256 for archive in ARCHIVES.values()}) == len(ARCHIVES)


def test_the_command_says_where_the_corpus_is_and_how_a_config_reads_it(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ARCHIVES, "ljspeech", archive)
    ended = CliRunner().invoke(cli, ["download", "ljspeech", "--to", str(tmp_path)], catch_exceptions=False)
    assert ended.exit_code == 0
    assert f"{tmp_path}/LJSpeech-1.1: 0.1 hours, public domain" in ended.stdout
    assert (
        f"ljspeech: {{reader: ljspeech, root: {tmp_path}/LJSpeech-1.1, language: en, license: public domain}}"
        in ended.stdout
    )


def test_an_interrupted_command_says_how_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.download.download.fetch", interrupt)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 50))
    ended = CliRunner().invoke(cli, ["download", "ljspeech", "--to", str(tmp_path)])
    assert ended.exit_code == 130
    assert "interrupted: what was downloaded is kept; the same command continues" in ended.stderr


def test_the_command_lists_what_can_be_downloaded() -> None:
    ended = CliRunner().invoke(cli, ["download"], catch_exceptions=False)
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:]] == list(ARCHIVES)
    with pytest.raises(UserError, match="lj: cannot be downloaded; expected one of ljspeech, vctk"):
        CliRunner().invoke(cli, ["download", "lj"], catch_exceptions=False)
