"""Long calls: what stops them, what runs beside them, and what happens to handles meanwhile."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pada

from conftest import SIZES


class Wrong(Exception):
    pass


def raise_wrong(*_):
    raise Wrong("from a callback")


# ---- exceptions ----

def test_exceptions_of_callbacks_arrive(net, images, space, tmp_path):
    with pytest.raises(Wrong, match="from a callback"):
        net.rank(space.sample(5), images, limit=50, progress=raise_wrong)
    with pytest.raises(Wrong):
        net.search(images, limit=50, progress=raise_wrong)
    with pytest.raises(Wrong):
        pada.train(out=tmp_path / "a", space=space, **SIZES, progress=raise_wrong)
    with pytest.raises(Wrong):  # it says that it resumes
        pada.train(out=tmp_path / "a", space=space, **SIZES, message=raise_wrong)
    with pytest.raises(SystemExit):
        pada.train(out=tmp_path / "a", space=space, **SIZES, progress=sys.exit)
    assert net.evaluate(space.random(1), images, limit=50).images == 50


def test_only_false_stops(net, images, space):
    archs = space.sample(3)
    for value in (None, True, 0, "", 1):
        assert len(net.rank(archs, images, limit=50, progress=lambda at: value)) == 3
    with pytest.raises(pada.Stopped, match="1 of 3"):
        net.rank(archs, images, limit=50, progress=lambda at: False)


# ---- signals ----

CHILD = """
import os, signal, sys
import pada

kind, out = sys.argv[1:]
seen = []

def handle(number, frame):
    seen.append(number)
    if kind == "raises":
        raise RuntimeError("a handler")

def progress(at):
    if seen:
        return False
    if at.epoch >= 1:
        os.kill(os.getpid(), signal.SIGINT if kind == "interrupt" else signal.SIGALRM)

signal.signal(signal.SIGALRM, handle)
try:
    pada.train(out=out, progress=progress, channels=4, cells=1, epochs=2000, batch_size=250, threads=1)
except BaseException as error:
    print(type(error).__name__, len(seen), bool(pada.Run(out).weights), signal.getsignal(signal.SIGINT).__name__,
          signal.getsignal(signal.SIGALRM) is handle)
"""


@pytest.mark.parametrize("kind, expected", [
    ("interrupt", "KeyboardInterrupt 0 True default_int_handler True"),
    ("raises", "RuntimeError 1 True default_int_handler True"),
    ("returns", "Stopped 1 True default_int_handler True"),
])
def test_signals_stop_a_training_with_a_checkpoint(kind, expected, tmp_path):
    done = subprocess.run([sys.executable, "-c", CHILD, kind, tmp_path / "run"], capture_output=True, text=True,
                          timeout=100)
    assert done.stderr == "" and done.stdout.strip() == expected


def test_ctrl_c_without_callbacks(tmp_path):
    program = ("import pada, sys\ntry: pada.train(out=sys.argv[1], channels=4, cells=1, epochs=2000, threads=1, batch_size=250)\n"
               "except KeyboardInterrupt: print('interrupted', bool(pada.Run(sys.argv[1]).weights))")
    child = subprocess.Popen([sys.executable, "-c", program, tmp_path / "run"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (tmp_path / "run" / "metrics.csv").exists():
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (out, err) == ("interrupted True\n", "")


# ---- threads ----

def test_other_threads_run_meanwhile(net, images, space):
    """The interpreter's lock is given back: this thread counts while another one ranks."""
    counts = []
    done = threading.Event()

    def rank():
        net.rank(space.sample(30), images, limit=500)
        done.set()

    thread = threading.Thread(target=rank)
    thread.start()
    while not done.is_set():
        counts.append(time.monotonic())
        time.sleep(0.001)
    thread.join()
    assert len(counts) > 20
    assert max(b - a for a, b in zip(counts, counts[1:])) < (counts[-1] - counts[0]) / 2


def test_threads_share_handles(net, model, images, space):
    archs = space.sample(4)
    expected = [net.evaluate(arch, images, limit=50) for arch in archs]
    picture = np.full((20, 20, 3), 99, np.uint8)
    probabilities = model.predict(picture)
    wrong = []

    def ask(i):
        for _ in range(10):
            if net.evaluate(archs[i], images, limit=50) != expected[i]:
                wrong.append(i)
            if not np.array_equal(model.predict(picture), probabilities):
                wrong.append(i)
            with pytest.raises(FileNotFoundError, match="^/nowhere/"):
                net.load("/nowhere/w")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_closing_waits_for_calls(space, model_folder):
    """Two threads use and close the same objects, over and over; a call either works or is told."""
    for _ in range(10):
        model = pada.Model(model_folder, threads=1)
        net = pada.Net(space, threads=1, batch_size=50)
        images = pada.Images("builtin", "test")
        picture = np.zeros((20, 20, 3), np.uint8)
        problems = []

        def use():
            try:
                while True:
                    model.predict(picture)
                    net.evaluate(space.random(1), images, limit=50)
            except pada.UsageError as error:
                if "closed" not in str(error):
                    problems.append(error)
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        closers = [threading.Thread(target=each.close) for each in (images, net, model, model)]
        for thread in closers:
            thread.start()
        for thread in threads + closers:
            thread.join()
        assert problems == []


def test_a_training_beside_a_ranking(net, images, space, tmp_path):
    thread = threading.Thread(target=lambda: pada.train(out=tmp_path / "a", space=space, **SIZES))
    thread.start()
    net.rank(space.sample(10), images, limit=100)
    thread.join()
    assert pada.Run(tmp_path / "a").weights


# ---- handles ----

def test_what_is_closed_is_told(net, model, images, space):
    arch = space.random(1)
    for each in (net, model, images):
        each.close()
        each.close()
        assert each.closed and "closed" in repr(each)
    for call in (lambda: net.evaluate(arch, images), lambda: net.predict(arch, np.zeros((1, 3, 16, 16), np.float32)),
                 lambda: net.init(1), lambda: net.save("/tmp/x"), lambda: net.rank([arch], images),
                 lambda: net.search(images), lambda: model.predict(np.zeros((9, 9, 3), np.uint8)),
                 lambda: model.export("/tmp/x.onnx"), lambda: len(images), lambda: images.read(), lambda: images.classes):
        with pytest.raises(ValueError, match="is closed"):
            call()


def test_a_net_keeps_its_images(net, space):
    freed = []
    images = pada.Images("builtin", "test")
    free = images._handle._free
    images._handle._free = lambda pointer: freed.append(free(pointer))
    for _ in range(2):
        expected = net.evaluate(space.random(1), images, limit=50)
    images.close()
    del images
    gc.collect()
    assert freed == []  # a device may still have them
    with pada.Images("builtin", "test") as others:
        assert net.evaluate(space.random(1), others, limit=50) == expected
    net.close()
    assert len(freed) == 1


def test_callbacks_may_not_use_what_they_follow(net, images, space):
    with pytest.raises(pada.UsageError, match="in use by the call that this function follows"):
        net.rank(space.sample(2), images, limit=50, progress=lambda at: net.init(1))
    seen = []
    with pada.Net(space, threads=1, batch_size=50) as other:  # another one may be used, and anything closed
        def progress(at):
            seen.append(len(other.rank(space.sample(2), images, limit=50)))
            net.close()
        assert len(net.rank(space.sample(2), images, limit=50, progress=progress)) == 2
    assert seen == [2, 2] and net.closed


def test_objects_are_not_copied(net, model, images):
    import copy
    import pickle

    for each in (net, model, images):
        with pytest.raises(TypeError):
            pickle.dumps(each)
        with pytest.raises(TypeError):
            copy.copy(each)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_is_told(net, model, images, space):
    arch = space.random(1)
    model.predict(np.zeros((4, 20, 20, 3), np.uint8))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = 0
        for call in (lambda: net.evaluate(arch, images), lambda: model.predict(np.zeros((9, 9, 3), np.uint8)),
                     lambda: pada.Images(), lambda: pada.Net(space), lambda: pada.train(out="/tmp/never")):
            try:
                call()
            except pada.UsageError as error:
                told += "fork" in str(error)
        for each in (net, model, images):
            each.close()
        told += space.random(3).cost.params > 0
        os.write(writer, bytes([told]))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reader, 1) == bytes([6])
    os.close(reader)
    os.close(writer)
    assert net.evaluate(arch, images, limit=50).images == 50


def test_programs_end_with_open_handles():
    """While threads compute; and with finalisers in any order."""
    program = ("import pada, threading\ns = pada.Space('nb201', channels=4, cells=1, image_size=16)\n"
               "n = pada.Net(s, threads=2); i = pada.Images()\n"
               "threading.Thread(target=lambda: [n.evaluate(s.random(k), i) for k in range(9999)], daemon=True).start()\n"
               "import time; time.sleep(0.3); keep = [s.random(1)]\n")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
