"""A file on a failing disk: it reads back as if nothing had failed."""

from tiny_runs import no_file_longer_than

from videopred.datasets.unfailing_file import UnfailingFile


def test_what_failed_to_be_written_can_be_read(tmp_path):
    first, second, third = b"a" * 60, b"b" * 60, b"c" * 20
    with UnfailingFile(tmp_path / "file") as file, no_file_longer_than(100):
        assert file.write(first) == 60
        assert file.failure is None
        assert file.write(second) == 60  # the disk takes 40 of them
        assert file.failure is not None
        file.seek(50)
        assert file.write(third) == 20
        assert file.tell() == 70
        assert file.truncate(150) == 150
        file.seek(0)
        read = bytearray(b"x" * 130)
        assert file.readinto(read) == 130
    assert bytes(read) == first[:50] + third + second[10:] + bytes(10)


def test_on_a_sound_disk_it_is_a_file(tmp_path):
    with UnfailingFile(tmp_path / "file") as file:
        file.write(b"abcdef")
        file.truncate(4)
        file.seek(1)
        read = bytearray(3)
        file.readinto(read)
        assert (read, file.failure) == (b"bcd", None)
    assert (tmp_path / "file").read_bytes() == b"abcd"
