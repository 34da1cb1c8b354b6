"""Blocks at the end of files that others write, too: crashes at any byte, full disks, others."""

import errno
import fcntl
import os
import resource
import signal
import stat
import threading

import pytest

from spanloom.appending import Journal, Noted, extend, missing
from spanloom.errors import StorageError

OLD = b"T1\tP 0 3\tAda\n"
BLOCK = b"T2\tP 4 7\tmet\nT3\tP 8 11\tBob\n"


class Lines:
    """Adds ``BLOCK`` once; all that others add is let through."""

    def __init__(self, block=BLOCK, *, holds=True):
        self.added, self.yes, self.contents, self.more = block, holds, [], []

    def block(self, content):
        self.contents.append(content)
        return b"" if self.added in content else self.added

    def holds(self, block, more):
        self.more.append(more)
        return self.yes


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.ann"
    path.write_bytes(OLD)
    return path


def journals(folder):
    return [path.name for path in folder.iterdir() if path.name.endswith(".adding")]


def test_a_block_is_added_once_and_owner_mode_and_links_stay(path, tmp_path):
    os.chmod(path, 0o600)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    (tmp_path / "link.ann").symlink_to("a.ann")
    os.link(path, tmp_path / "hard.ann")
    before = path.stat()
    assert extend(tmp_path / "link.ann", Lines()) == BLOCK
    assert extend(tmp_path / "link.ann", Lines()) == b""
    after = path.stat()
    for field in ("st_ino", "st_mode", "st_uid", "st_gid", "st_nlink"):
        assert getattr(before, field) == getattr(after, field)
    assert (tmp_path / "link.ann").is_symlink()
    assert path.read_bytes() == (tmp_path / "hard.ann").read_bytes() == OLD + BLOCK
    assert sorted(os.listdir(tmp_path)) == ["a.ann", "hard.ann", "link.ann"]


def test_a_file_that_is_not_there_is_made_where_there_is_something_to_add(tmp_path):
    assert extend(tmp_path / "a.ann", Lines(b"")) == b""
    assert os.listdir(tmp_path) == []
    mask = os.umask(0o027)
    try:
        (tmp_path / "link.ann").symlink_to("b.ann")
        extend(tmp_path / "link.ann", Lines())
    finally:
        os.umask(mask)
    assert (tmp_path / "b.ann").read_bytes() == BLOCK
    assert stat.S_IMODE((tmp_path / "b.ann").stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["b.ann", "link.ann"]


@pytest.mark.parametrize("torn", range(len(BLOCK) + 1))
def test_a_kill_at_any_byte_is_mended_by_the_next_run(path, torn):
    child = os.fork()
    if not child:
        write = os.write

        def killed(handle, data):
            write(handle, data[:torn])
            os.kill(os.getpid(), signal.SIGKILL)

        os.write = killed
        extend(path, Lines())
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert path.read_bytes() == OLD + BLOCK[:torn]
    assert journals(path.parent) == [".a.ann.adding"]
    extend(path, Lines())
    assert path.read_bytes() == OLD + BLOCK
    assert journals(path.parent) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_crash_between_any_two_calls_is_mended(tmp_path, crash_at, there):
    path, step = tmp_path / "a.ann", 1
    content = OLD if there else b""
    while True:
        path.unlink(missing_ok=True)
        if there:
            path.write_bytes(OLD)
        if not crash_at(step, lambda: extend(path, Lines())):
            break
        if path.exists():
            assert path.read_bytes() in (content, content + BLOCK)
        extend(path, Lines())
        assert path.read_bytes() == content + BLOCK
        assert os.listdir(tmp_path) == ["a.ann"]
        step += 1
    assert step > 10


def test_what_others_add_behind_a_torn_line_is_said_again():
    other_line, more = b"T77\tGene 0 3\tAda\n", b"#1\tN T1\tx\n"
    torn = BLOCK[:20]
    assert missing(torn + other_line + more, BLOCK) == other_line
    assert missing(torn + other_line + b"T9", BLOCK) == b"\n" + other_line
    assert missing(BLOCK[:2] + other_line + more, BLOCK) == other_line
    assert missing(BLOCK[:1] + more + other_line, BLOCK) == more
    assert missing(more + BLOCK[:2], BLOCK) == BLOCK[2:]
    assert missing(b"T22\tQ 0 3\tAda\n", BLOCK) == b""
    assert missing(more + torn, BLOCK) == BLOCK[20:]
    assert missing(more + BLOCK + more, BLOCK) == missing(b"", BLOCK) == missing(more, BLOCK) == b""
    whole = BLOCK.index(b"\n") + 1
    assert missing(BLOCK[:whole] + other_line, BLOCK) == b""
    assert missing(BLOCK[: whole + 1] + other_line, BLOCK) == other_line
    assert missing(BLOCK[:20] + b"\n" + other_line, BLOCK) == b""
    assert missing(torn + b"half", BLOCK) == b""


def test_what_is_owed_is_added_even_where_nothing_of_it_is_there():
    assert missing(b"", BLOCK, owed=True) == missing(b"#1\tN T1\tx\n", BLOCK, owed=True) == BLOCK
    assert missing(BLOCK[:7], BLOCK, owed=True) == BLOCK[7:]
    other_line, second = b"#10\tN T1\tx\n", BLOCK.index(b"\n") + 1
    assert missing(BLOCK[:7] + other_line, BLOCK, owed=True) == other_line + BLOCK
    assert (
        missing(BLOCK[: second + 4] + other_line, BLOCK, owed=True) == other_line + BLOCK[second:]
    )
    assert missing(BLOCK[:second] + other_line, BLOCK, owed=True) == BLOCK[second:]
    assert missing(b"#1\tN T1\tx\n" + BLOCK, BLOCK, owed=True) == b""


@pytest.mark.parametrize("torn", range(1, len(BLOCK)))
def test_crashes_while_a_torn_file_is_mended(tmp_path, crash_at, torn):
    """Others went on behind a torn line; whatever call the next run dies at, their line is said."""
    path, other_line, step = tmp_path / "a.ann", b"T77\tGene 0 3\tAda\n", 1 + torn % 5
    Journal(path).note(Noted(0, BLOCK), 0o600)
    noted = (tmp_path / ".a.ann.adding").read_bytes()
    while True:
        path.write_bytes(BLOCK[:torn] + other_line)
        (tmp_path / ".a.ann.adding").write_bytes(noted)
        died = crash_at(step, lambda: extend(path, Lines()))
        extend(path, Lines())
        lines = path.read_bytes().split(b"\n")
        assert lines.count(other_line[:-1]) == 1
        assert path.read_bytes().startswith(BLOCK[:torn] + other_line)
        assert path.read_bytes().endswith(BLOCK)
        assert os.listdir(tmp_path) == ["a.ann"]
        if not died:
            break
        step += 5  # not each of them: every step costs a process


def test_a_journal_that_is_torn_or_of_another_file_adds_nothing(path):
    journal = path.with_name(".a.ann.adding")
    for content in (b"", b"{}\n", b'{"offset": 0, "sha256": "00"}\nT9\tP 0 3\tAda\n', b"\xff"):
        journal.write_bytes(content)
        assert extend(path, Lines(b"")) == b""
        assert path.read_bytes() == OLD
        assert not journal.exists()
    os.symlink(path, journal)
    with pytest.raises(StorageError, match="adding"):
        extend(path, Lines())
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_full_disk_takes_the_block_back(path, room, monkeypatch):
    write = os.write

    def full(handle, data):
        size = os.fstat(handle).st_size
        if size >= len(OLD) + room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[: len(OLD) + room - size])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match=r"a\.ann: could not be written: No space left"):
        extend(path, Lines())
    assert path.read_bytes() == OLD
    assert os.listdir(path.parent) == ["a.ann"]


def test_a_limit_that_the_system_keeps(path):
    """The journal is as long as the block, so it fails first; a long file fails itself."""
    path.write_bytes(OLD * 100)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(OLD) * 100 + 9, -1))
        try:
            extend(path, Lines())
        except StorageError as error:
            os._exit(7 if "File too large" in str(error) else 8)
        os._exit(0)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
    assert path.read_bytes() == OLD * 100
    assert os.listdir(path.parent) == ["a.ann"]


def test_a_new_file_that_finds_no_room_is_gone_again(tmp_path, monkeypatch):
    def full(handle, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match="No space"):
        extend(tmp_path / "a.ann", Lines())
    assert os.listdir(tmp_path) == []


def test_a_torn_block_that_another_went_on_from_stays_until_it_is_mended(path, monkeypatch):
    other_line, write = b"T9\tQ 0 3\tAda\n", os.write

    def full(handle, data):
        if os.fstat(handle).st_size > len(OLD):
            with path.open("ab") as other:
                other.write(other_line)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[:5])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match="No space"):
        extend(path, Lines())
    monkeypatch.undo()
    assert path.read_bytes() == OLD + BLOCK[:5] + other_line
    extend(path, Lines())
    assert path.read_bytes() == OLD + BLOCK[:5] + other_line + other_line + BLOCK


def test_read_only_files_pipes_and_folders_are_refused(path, tmp_path):
    path.chmod(0o444)
    with pytest.raises(StorageError, match="read-only"):
        extend(path, Lines())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="expected a file"):
        extend(tmp_path / "pipe", Lines())
    with pytest.raises(StorageError, match="could not be written"):
        extend(tmp_path, Lines())
    assert path.read_bytes() == OLD


def test_a_lock_is_waited_for_but_not_for_ever(path, monkeypatch):
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr("spanloom.appending.PATIENCE", 0.1)
        with pytest.raises(StorageError, match="held its lock"):
            extend(path, Lines())
        monkeypatch.setattr("spanloom.appending.PATIENCE", 10.0)
        timer = threading.Timer(0.1, fcntl.flock, (other, fcntl.LOCK_UN))
        timer.start()
        assert extend(path, Lines()) == BLOCK
        timer.join()


class Meddled(Lines):
    """Another program does something after the content was read, the first time."""

    def __init__(self, meddle, **options):
        super().__init__(**options)
        self.meddle = meddle

    def block(self, content):
        block = super().block(content)
        if len(self.contents) == 1:
            self.meddle()
        return block


def test_a_file_that_an_editor_replaced_meanwhile_is_the_one_that_grows(path):
    def replaced():
        path.with_name("new").write_bytes(b"new\n")
        os.replace(path.with_name("new"), path)

    author = Meddled(replaced)
    assert extend(path, author) == BLOCK
    assert author.contents == [OLD, b"new\n"]
    assert path.read_bytes() == b"new\n" + BLOCK


def test_a_file_that_was_replaced_while_its_lock_was_waited_for(path, monkeypatch):
    flock = fcntl.flock

    def replaced(handle, how):
        monkeypatch.setattr(fcntl, "flock", flock)
        path.with_name("new").write_bytes(b"new\n")
        os.replace(path.with_name("new"), path)
        return flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", replaced)
    assert extend(path, Lines()) == BLOCK
    assert path.read_bytes() == b"new\n" + BLOCK


def test_what_others_add_meanwhile_stays_and_is_looked_at(path):
    def appended():
        with path.open("ab") as other:
            other.write(b"#1\tN T1\tx\n")

    author = Meddled(appended)
    assert extend(path, author) == BLOCK
    assert (author.more, len(author.contents)) == ([b"#1\tN T1\tx\n"], 1)
    assert path.read_bytes() == OLD + b"#1\tN T1\tx\n" + BLOCK
    path.write_bytes(OLD)
    author = Meddled(appended, holds=False)
    assert extend(path, author) == BLOCK
    assert author.contents == [OLD, OLD + b"#1\tN T1\tx\n"]


def test_a_line_that_came_at_the_same_moment_is_told_where_it_does_harm(path, monkeypatch):
    write = os.write

    def raced(handle, data):
        with path.open("ab") as other:
            other.write(b"T2\tQ 0 3\tAda\n")
        return write(handle, data)

    monkeypatch.setattr(os, "write", raced)
    with pytest.raises(StorageError, match="the same ids"):
        extend(path, Lines(holds=False))
    assert path.read_bytes() == OLD + b"T2\tQ 0 3\tAda\n" + BLOCK


def test_a_file_that_never_rests_is_left(path):
    class Restless(Lines):
        def block(self, content):
            with path.open("ab") as other:
                other.write(b"x\n")
            return BLOCK

    with pytest.raises(StorageError, match="again and again"):
        extend(path, Restless(holds=False))
    assert BLOCK not in path.read_bytes()
    assert os.listdir(path.parent) == ["a.ann"]
