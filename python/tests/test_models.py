"""Trained networks: what they see, and what others get of them."""

import numpy as np
import pytest

import pada


def noise(*shape):
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def test_models_say_what_they_are(model, model_folder):
    assert model.classes == tuple("0123456789") and model.image_size == 16 and model.space == "nb201"
    assert model.arch.startswith("|nor_conv_3x3~0|") and model.arch in repr(model)
    with pada.Model(model_folder / "last.safetensors") as other:
        assert other.arch == model.arch


def test_pictures_may_come_in_any_form(model, tmp_path):
    many = noise(5, 20, 28, 3)
    found = model.predict(many)
    assert found.shape == (5, 10) and found.dtype == np.float32 and np.allclose(found.sum(1), 1, atol=1e-5)
    for i in range(5):
        assert np.array_equal(model.predict(many[i]), found[i])
    assert np.array_equal(model.predict(list(many)), found)
    assert np.array_equal(model.predict(np.asfortranarray(many)), found)
    assert np.array_equal(model.predict(many[::-1]), found[::-1])
    assert model.predict(many[:0]).shape == (0, 10) and model.predict([]).shape == (0, 10)
    best = model.top(many[0], 3)
    assert len(best) == 3 and best[0] == (str(found[0].argmax()), float(found[0].max()))


def test_files_are_pictures(model, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    picture = noise(20, 28, 3)
    Image.fromarray(picture).save(tmp_path / "p.png")
    expected = model.predict(picture)
    assert np.array_equal(model.predict(tmp_path / "p.png"), expected)
    assert np.array_equal(model.predict([str(tmp_path / "p.png"), picture])[0], expected)
    assert np.array_equal(model.predict(Image.fromarray(picture)), expected)


@pytest.mark.parametrize("shape", [(16, 16), (16, 16, 4), (16, 16, 1), (3, 16, 16), (2, 3, 16, 16), (16,), (),
                                   (1, 1, 16, 16, 3), (0, 16, 3), (16, 0, 3), (2, 0, 16, 3), (1, 70000, 1, 3)])
def test_wrong_shapes_are_refused(model, shape):
    with pytest.raises(pada.UsageError):
        model.predict(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("wrong", [None, 3, b"photo.png", object(), np.zeros((16, 16, 3)), np.zeros((16, 16, 3), bool),
                                   np.zeros((16, 16, 3), object), [None], [[0, 1]], {"a": 1}])
def test_wrong_types_are_refused(model, wrong):
    with pytest.raises(TypeError):
        model.predict(wrong)


def test_files_that_are_no_pictures(model, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(pada.DataError):
        model.predict(tmp_path / "text.png")
    with pytest.raises(FileNotFoundError):
        model.predict(tmp_path / "nothing.png")
    with pytest.raises(pada.Error):
        model.predict(tmp_path)
    with pytest.raises(pada.UsageError):
        model.predict("a\0b")


def test_models_are_evaluated(model, model_folder, run):
    with run.images("test") as images:
        found = model.evaluate(images)
    import json

    test = json.loads((model_folder / "test.json").read_text())["last"]
    assert found.images == 1000 and found.accuracy == test["top1"] and abs(found.loss - test["loss"]) < 1e-6
    with pada.Run(model_folder).images("test") as images:
        assert model.evaluate(images, limit=10).images == 10
        with pytest.raises(pada.UsageError, match="limit"):
            model.evaluate(images, limit=2000)
    with pytest.raises(TypeError, match="images are pada.Images"):
        model.evaluate(np.zeros((1, 16, 16, 3), np.uint8))
    with pytest.raises(pada.UsageError, match="closed"):
        model.evaluate(images)


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "CMYK"])
def test_pictures_of_pillow_may_have_any_mode(model, tmp_path, mode):
    Image = pytest.importorskip("PIL.Image")
    picture = Image.fromarray(noise(20, 28, 3)).convert(mode)
    found = model.predict(picture)
    assert np.array_equal(found, model.predict(np.asarray(picture.convert("RGB"))))
    if mode in ("L", "RGBA"):  # a file is read the same way
        picture.save(tmp_path / "p.png")
        assert np.array_equal(model.predict(tmp_path / "p.png"), found)


def test_exports(model, tmp_path):
    for name in ("net.onnx", "net.py", "net.c", "net.safetensors"):
        model.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    model.export(tmp_path / "other", "onnx", normalise=True, keep_norms=True)
    with pytest.raises(pada.UsageError, match="give the format"):
        model.export(tmp_path / "net.xyz")
    for wrong in ({"format": "onx"}, {"format": "c", "name": "no name"}):
        with pytest.raises(pada.UsageError):
            model.export(tmp_path / "net.c", **wrong)
    with pytest.raises(pada.Error):
        model.export(tmp_path / "no" / "folder.onnx")
    with pytest.raises(TypeError):
        model.export(None)


def test_what_is_no_model(run, tmp_path):
    with pytest.raises(pada.UsageError, match="supernet"):
        pada.Model(run)
    with pytest.raises(FileNotFoundError):
        pada.Model(tmp_path / "nothing")
    with pytest.raises(pada.Error):
        pada.Model(tmp_path)
    with pytest.raises(pada.UsageError):
        pada.Model(tmp_path, batch_size=-1)
