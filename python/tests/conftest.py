"""What the tests share: a small space, a supernet trained on built-in images, a network of it trained alone."""

import signal

import pytest

import pada

SIZES = {"epochs": 2, "batch_size": 250, "threads": 1}


@pytest.fixture(autouse=True)
def in_time():
    """A call that never returns ends its test process, which says where it was, and not the patience of people."""
    import faulthandler

    faulthandler.dump_traceback_later(120, exit=True)
    before = signal.getsignal(signal.SIGINT)
    yield
    faulthandler.cancel_dump_traceback_later()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture(scope="session")
def space():
    return pada.Space("nb201", channels=4, cells=1, image_size=16)


@pytest.fixture(scope="session")
def run(space, tmp_path_factory):
    return pada.train(out=tmp_path_factory.mktemp("runs") / "supernet", space=space, seed=3, **SIZES)


@pytest.fixture(scope="session")
def model_folder(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "network"
    run.retrain("|nor_conv_3x3~0|+|none~0|skip_connect~1|+|skip_connect~0|none~1|none~2|", out=out, **SIZES).close()
    return out


@pytest.fixture
def model(model_folder):
    with pada.Model(model_folder, threads=1, batch_size=2) as opened:
        yield opened


@pytest.fixture
def images():
    with pada.Images("builtin", "test") as opened:
        yield opened


@pytest.fixture
def net(space):
    with pada.Net(space, threads=1, batch_size=50) as opened:
        yield opened
