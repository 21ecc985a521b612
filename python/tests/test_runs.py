"""Trainings and their run folders: options, progress, what is found in them."""

import logging

import pytest

import pada

from conftest import SIZES


def test_runs_know_their_supernet(run, space):
    assert run.space == space and run.weights.endswith(".safetensors")
    with run.images() as images, run.net(threads=1, batch_size=100) as net:
        assert len(images) == 1000
        arch = space.random(1)
        assert net.evaluate(arch, images, limit=100).images == 100
        assert run.rank([arch], limit=100, threads=1, batch_size=100)[0].loss == \
            net.evaluate(arch.canonical(), images, limit=100).loss
    assert pada.Run(run.path).weights == run.weights
    with run.images("train") as train:
        assert len(train) == 2000
    with pytest.raises(pada.UsageError):
        run.images("val")
    with pytest.raises(pada.UsageError):
        run.images("all")


def test_metrics_are_a_table(run):
    table = run.metrics()
    assert table.column("epoch") == [0, 1] and table[1].loss > 0 and isinstance(table[0].weights_hash, str)


def test_rankings_and_searches_of_runs(run):
    table = run.rank(networks=5, limit=50, seed=1)
    assert table.column("arch") != [] and set(table.column("arch")) == set(run.space.sample(5, 1))
    found = run.search(limit=50, population=6, generations=2, max_params=12000, top=3)
    assert 1 <= len(found) <= 3 and all(row.params <= 12000 for row in found)


def test_progress_and_messages(run, space, tmp_path, caplog):
    seen, lines = [], []
    flags = {**SIZES, "seed": 3, "space": space}
    with pytest.raises(pada.Stopped):
        pada.train(out=tmp_path / "a", progress=lambda at: seen.append(at) or at.epoch < 0, **flags)
    assert len(seen) == 1 and seen[0].epochs == 2 and seen[0].total == 8
    with caplog.at_level(logging.INFO, "pada"), pytest.raises(pada.Stopped):
        pada.train(out=tmp_path / "a", progress=lambda at: False, **flags)
    assert "going on" in caplog.text
    again = pada.train(out=tmp_path / "a", message=lines.append, **flags)
    assert lines and all(isinstance(line, str) for line in lines)
    # Stopped or not, the same bits.
    assert again.metrics()[-1].weights_hash == run.metrics()[-1].weights_hash


def test_a_network_of_an_architecture(space, tmp_path):
    arch = space.parse("|nor_conv_1x1~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
    with pada.retrain(arch, "builtin", out=tmp_path / "a", **SIZES) as model:
        assert model.arch == str(arch) and model.image_size == 16
    with pytest.raises(pada.UsageError, match="trained alone"):
        pada.Run(tmp_path / "a").space


@pytest.mark.parametrize("options, message", [
    ({"epohcs": 3}, "epochs"), ({"method": "sops"}, "spos"), ({"space": "nb210"}, "nb201"),
    ({"epochs": -1}, "epochs"), ({"epochs": "many"}, "epochs"), ({"lr": float("nan")}, "lr"), ({"json": True}, "json"),
    ({"": 1}, "unknown option"), ({"epochs": True}, "epochs"), ({"backend": "null"}, "null"), ({"x\0y": 1}, "zero character"),
])
def test_wrong_options_are_refused(options, message, tmp_path):
    with pytest.raises(pada.UsageError, match=message):
        pada.train(out=tmp_path / "a", **options)
    assert not (tmp_path / "a").exists()


def test_wrong_arguments_are_refused(run, space, tmp_path):
    for options in ({"epochs": object()}, {"epochs": {}}, {"space": 3}, {"data": None}, {"progress": 3},
                    {"message": "print"}, {"out": None}):
        with pytest.raises(TypeError):
            pada.train(**{"out": tmp_path / "a", **options})
    with pytest.raises(FileNotFoundError):
        pada.train(tmp_path / "nothing", out=tmp_path / "a")
    with pytest.raises(pada.UsageError):  # another configuration in a folder that is taken
        pada.train(out=run, epochs=9)
    for wrong in (None, "3,3,4,1,3,1", run.path):
        with pytest.raises(TypeError):
            pada.retrain(wrong, out=tmp_path / "a")
    with pytest.raises(pada.Error):  # nothing was ranked or searched by commands
        pada.retrain(run, out=tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        pada.Run(tmp_path)
    with pytest.raises(TypeError):
        pada.Run(3)


def test_options_become_flags():
    import pathlib

    import numpy as np

    from pada._values import flags

    assert flags({"learning_rate": 0.1, "flip": False, "nesterov": True, "data": pathlib.Path("/a b"), "none": None,
                  "widths": [1, 2], "epochs": np.int64(3), "decay": np.float64(0.5), "mix": np.bool_(False)}) == \
        ["--learning-rate=0.1", "--no-flip", "--nesterov", "--data=/a b", "--widths=1,2", "--epochs=3", "--decay=0.5",
         "--no-mix"]
