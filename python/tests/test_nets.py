"""Supernets in memory: results that agree with each other, and tables."""

import numpy as np
import pytest

import pada


def test_images_are_arrays(images):
    pixels, labels = images.read(3, 5)
    assert pixels.shape == (5, 3, 16, 16) and pixels.dtype == np.float32
    assert labels.shape == (5,) and labels.dtype == np.int32
    assert len(images) == 1000 and images.image_size == 16 and images.classes == tuple("0123456789")
    everything, _ = images.read()
    assert np.array_equal(everything[3:8], pixels)
    assert images.read(1000)[0].shape == (0, 3, 16, 16)
    for first, n in ((-1, 1), (0, 1001), (1000, 1), (0, -1), (1 << 31, 1)):
        with pytest.raises(pada.UsageError):
            images.read(first, n)


def test_evaluations_agree_with_predictions(net, images):
    arch = net.space.random(1)
    pixels, labels = images.read(0, 50)
    scores = net.predict(arch, pixels)
    assert scores.shape == (50, 10) and scores.dtype == np.float32
    result = net.evaluate(arch, images, limit=50)
    assert result.images == 50 and result.top1 == (scores.argmax(1) == labels).sum()
    assert result.accuracy == 2.0 * result.top1
    ranked = net.rank([arch], images, limit=50)
    assert ranked[0].loss == net.evaluate(arch.canonical(), images, limit=50).loss
    # As any array that says the same.
    for same in (pixels.astype(np.float64), np.asfortranarray(pixels), np.repeat(pixels, 2, axis=0)[::2]):
        assert np.array_equal(net.predict(str(arch), same), scores)


def test_pixels_of_other_shapes_are_refused(net):
    arch = net.space.random(1)
    for shape in ((3, 16, 16), (1, 3, 16, 15), (1, 1, 16, 16), (1, 16, 16, 3), (), (0, 3, 16, 16), (51, 3, 16, 16)):
        with pytest.raises(pada.UsageError):
            net.predict(arch, np.zeros(shape, np.float32))
    for wrong in (np.zeros((1, 3, 16, 16), np.uint8), None, "pixels", np.zeros((1, 3, 16, 16), object), [[]]):
        with pytest.raises((TypeError, ValueError)):
            net.predict(arch, wrong)


def test_rankings_are_tables(net, images):
    archs = net.space.sample(8, seed=1)
    seen = []
    table = net.rank(archs, images, limit=50, progress=seen.append)
    assert {row.arch for row in table} == set(archs) and len(table) == 8
    assert table.column("top1") == sorted(table["top1"], reverse=True)
    with pytest.raises(pada.UsageError, match="no column 'acc'; there are arch, top1, loss, macs, params"):
        table["acc"]
    assert table == net.rank(archs, images, limit=50) and table != table[:1] and table != list(table)
    assert table[0].params == table[0].arch.cost.params and table[-1].macs == table[-1].arch.cost.macs
    assert [at.done for at in seen] == list(range(1, 9)) and seen[-1].total == 8 and seen[-1].top1 == table[0].top1
    assert len(table[:3]) == 3 and isinstance(table[:3], pada.Table)
    assert str(table[0].arch) in repr(table) and "<table>" in table._repr_html_()


def test_tables_are_frames_where_pandas_is(net, images):
    pandas = pytest.importorskip("pandas")
    frame = net.rank(net.space.sample(3), images, limit=50).frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["arch", "top1", "loss", "macs", "params"]
    assert frame.arch.map(type).eq(str).all() and frame.macs.dtype == "int64"


def test_searches_keep_limits(net, images):
    small = {"limit": 50, "population": 6, "generations": 2}
    table = net.search(images, max_params=1.2e4, top=4, seed=3, **small)
    assert 1 <= len(table) <= 4 and all(row.params <= 12000 for row in table)
    assert table.column("arch") == net.search(images, max_params=12000, top=4, seed=3, **small).column("arch")
    with pytest.raises(pada.UsageError, match="populaton"):
        net.search(images, populaton=3)
    for wrong in ({"max_params": 1}, {"top": 0}, {"top": 1 << 40}, {"min_macs": -1}, {"algorithm": "magic"},
                  {"limit": -1}):
        with pytest.raises(pada.UsageError):
            net.search(images, **{**small, **wrong})


def test_weights_are_files(net, space, images, tmp_path):
    arch = space.random(2)
    net.init(5)
    net.save(tmp_path / "w.safetensors")
    with pada.Net(space, weights=tmp_path / "w.safetensors", threads=1, batch_size=50) as other:
        assert other.evaluate(arch, images, limit=50) == net.evaluate(arch, images, limit=50)
    with pada.Net(space, seed=5, threads=1, batch_size=50) as other:
        assert other.evaluate(arch, images, limit=50) == net.evaluate(arch, images, limit=50)
    with pytest.raises(FileNotFoundError):
        net.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("no weights")
    with pytest.raises(pada.DataError):
        net.load(tmp_path / "text")
    with pytest.raises(pada.Error):
        pada.Net(space, backend="cpo")


def test_networks_of_other_spaces_are_refused(net, images):
    with pytest.raises(pada.UsageError):
        net.evaluate(pada.Space("macro").random(1), images)
    with pytest.raises(pada.UsageError):
        net.evaluate("nonsense", images)
    for wrong in (None, 7, b"bytes", [0] * 6):
        with pytest.raises(TypeError):
            net.evaluate(wrong, images)
    other_size = pada.Space("nb201", channels=16).random(1)
    assert net.evaluate(other_size, images, limit=50).images == 50
    with pytest.raises(TypeError):
        net.evaluate(other_size, "builtin")
    with pytest.raises(pada.UsageError):
        net.rank([], images)
