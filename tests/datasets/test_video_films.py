"""Films in videos give back what was kept in them, and say what is wrong with them."""

import struct
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from film_samples import COLOR, GREY, read


def save_video(path: Path, frames: np.ndarray, **metadata: str) -> Path:
    """An MP4 of RGB frames, without loss."""
    with av.open(str(path), "w") as container:
        container.metadata.update(metadata)
        stream = container.add_stream("libx264rgb", rate=10, options={"crf": "0"})
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "rgb24"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("color", [False, True])
def test_a_video_without_loss_is_exact(tmp_path, color):
    films = COLOR[0] if color else GREY[0].repeat(3, axis=-1)
    clips, found = read(save_video(tmp_path / "f.mp4", films))
    assert np.array_equal(clips, (COLOR if color else GREY)[:1])
    assert found["format"] == "MP4"


def test_videos_of_a_folder_are_clips(tmp_path):
    for clip, name in enumerate(["2.mp4", "10.mp4", "11.mp4"]):
        save_video(tmp_path / name, COLOR[clip])
    (tmp_path / "11.mp4").rename(tmp_path / "11.MP4")
    clips, found = read(tmp_path)
    assert np.array_equal(clips, COLOR)
    assert found["format"] == "folder of MP4 files"


def test_a_title_may_be_of_another_encoding(tmp_path):
    path = save_video(tmp_path / "f.mp4", COLOR[0], title="Muenchen")
    path.write_bytes(path.read_bytes().replace(b"Muenchen", "München.".encode("latin-1")))
    assert np.array_equal(read(path)[0], COLOR[:1])


def test_a_file_with_sound_alone_is_refused(tmp_path):
    path = tmp_path / "f.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), format="fltp", layout="mono")
        sound.sample_rate = 8000
        container.mux([*stream.encode(sound), *stream.encode()])
    with pytest.raises(ValueError, match=r"^SOURCE must hold a video, got \S+f\.mp4 without one; choose another file$"):
        read(path)


def test_a_broken_video_is_one_clear_line(tmp_path):
    (tmp_path / "f.mp4").write_text("no video")
    with pytest.raises(ValueError, match=r"^SOURCE must be whole MP4, got .*f\.mp4 \(.*\); make it again$"):
        read(tmp_path / "f.mp4")


def test_a_video_that_was_cut_between_two_frames_is_refused(tmp_path):
    """As a download that broke off, of a file that begins with what it should hold."""
    whole = save_video(tmp_path / "f.mp4", COLOR[0])
    with (
        av.open(str(whole)) as source,
        av.open(str(tmp_path / "front.mp4"), "w", options={"movflags": "faststart"}) as to,
    ):
        stream = to.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                to.mux(packet)
    assert np.array_equal(read(tmp_path / "front.mp4")[0], COLOR[:1])
    with av.open(str(tmp_path / "front.mp4")) as container:
        places = sorted(packet.pos for packet in container.demux(video=0) if packet.size)
    (tmp_path / "cut.mp4").write_bytes((tmp_path / "front.mp4").read_bytes()[: places[2]])
    with pytest.raises(
        ValueError, match=rf"be whole MP4, got .*cut\.mp4, where 2 of {len(COLOR[0])} frames are; make it again"
    ):
        read(tmp_path / "cut.mp4")


def test_a_video_that_says_how_it_is_turned_is_turned(tmp_path):
    path = save_video(tmp_path / "f.mp4", COLOR[0])
    content = bytearray(path.read_bytes())
    at = content.index(b"tkhd") + 44  # version, times, identity, length, reserved, layer, group and volume come before
    quarter = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, COLOR.shape[2] << 16, 0, 1 << 30)
    content[at : at + 36] = quarter  # to the right
    path.write_bytes(content)
    clips, _ = read(path)
    assert np.array_equal(clips[0], np.rot90(COLOR[0], -1, axes=(1, 2)))


@pytest.mark.parametrize("matrix", [(-1, 0, 0, 1), (1, 0, 0, -1), (0, 1, 1, 0)])
def test_a_video_that_says_that_it_is_mirrored_is_refused(tmp_path, matrix):
    """Of the angle alone, the first would be turned by half a circle, and the second left as it is."""
    path = save_video(tmp_path / "f.mp4", COLOR[0])
    content = bytearray(path.read_bytes())
    at, (a, b, c, d) = content.index(b"tkhd") + 44, (part << 16 for part in matrix)
    content[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"^SOURCE must not be mirrored when it is shown, got \S+f\.mp4, which is; conv"
    ):
        read(path)


@pytest.mark.parametrize("kind", ["yuva420p", "yuva422p"])
def test_an_opaque_video_is_taken_whatever_its_alpha_is_kept_as(tmp_path, kind):
    frames = np.full((3, 50, 70, 4), 255, np.uint8)
    with av.open(str(tmp_path / "f.mp4"), "w", format="matroska") as container:
        stream = container.add_stream("ffv1", rate=10)
        stream.height, stream.width, stream.pix_fmt = 50, 70, kind
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgba").reformat(format=kind)))
        container.mux(stream.encode())
    assert read(tmp_path / "f.mp4")[0].shape == (1, *frames.shape[:-1], 1)


@pytest.mark.parametrize("alpha", [254, 255])
def test_a_video_through_which_one_sees_is_refused(tmp_path, alpha):
    clear = np.full((*COLOR.shape[1:4], 1), 255, np.uint8)
    clear[1, 2, 3] = alpha
    frames, path = np.concatenate([COLOR[0], clear], axis=-1), tmp_path / "f.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("png", rate=10)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "rgba"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgba")))
        container.mux(stream.encode())
    if alpha == 255:
        assert np.array_equal(read(path)[0], COLOR[:1])
    else:
        with pytest.raises(ValueError, match=r"^SOURCE must hold opaque pictures, got \S+f\.mp4, which is transp"):
            read(path)


def test_a_video_need_not_show_all_that_is_in_it(tmp_path):
    """As one of which a phone has cut the start: an edit list says from when on it is shown."""
    path = save_video(tmp_path / "f.mp4", COLOR[0])
    with av.open(str(path)) as container:
        second = list(container.demux(video=0))[1].pts
    content = bytearray(path.read_bytes())
    at = content.index(b"elst") + 16  # its own name, version, number of edits and length come before
    content[at : at + 4] = struct.pack(">i", second)
    path.write_bytes(content)
    assert np.array_equal(read(path)[0], COLOR[:1, 1:])


def test_without_pyav_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "f.mp4").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"^SOURCE must be read with PyAV, got .*f\.mp4, and PyAV is not .*; run `pip i"
    ):
        read(tmp_path / "f.mp4")
