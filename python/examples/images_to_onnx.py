"""From a folder of images to a tested network in an ONNX file: images_to_onnx.py [DATA] [OUT] [EPOCHS]

DATA has a folder of pictures for each class, or is "builtin": small drawings that are part of pada. Stopped by Ctrl-C and
called again, it continues.
"""

import sys

import pada

data = sys.argv[1] if len(sys.argv) > 1 else "builtin"
out = sys.argv[2] if len(sys.argv) > 2 else "runs"
epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 20


def show(at: pada.Progress) -> None:
    left = f", {at.seconds_left:.0f} s left" if at.seconds_left == at.seconds_left else ""
    print(f"\repoch {at.epoch + 1} of {at.epochs}, loss {at.loss:.3f}{left}   ", end="", file=sys.stderr)


# A supernet with all networks of the space, and the best of them that is cheap enough.
run = pada.train(data, out=f"{out}/supernet", space=pada.Space("nb201", channels=8, cells=1), epochs=epochs,
                 progress=show)
best = run.search(max_params=30_000, limit=500, population=10, generations=4)
print(f"\nbest of {len(best)}: {best[0].arch}, {best[0].top1:.1f} % with the weights of the supernet")

# That network alone, on the same images.
with run.retrain(best[0].arch, out=f"{out}/network", epochs=epochs, progress=show) as model:
    with run.images("test") as images:
        print(f"\n{len(images)} test images of {len(images.classes)} classes")
    model.export(f"{out}/network.onnx", normalise=True)
print(f"{out}/network.onnx is written")
