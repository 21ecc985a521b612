#!/bin/sh
# test_package.sh - the Python package from nothing: a fresh virtual environment, a wheel, its tests, the example from
# images to ONNX, the time of an import. Skipped, saying why, where Python or PyPI are not to be had.
: "${PADA_SOURCE:?is the root of the source}" "${PADA_BUILD:?is the build folder}"

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    [ ! -s "$work/log" ] || tail -25 "$work/log" | cut -c1-300
    echo "FAILED: $*"
    exit 1
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || skip 'no python3, or older than 3.9'
python3 -m venv "$work/env" >"$work/log" 2>&1 || skip 'python3 -m venv makes no environment (package python3-venv)'
pip() {
    "$work/env/bin/python" -m pip --disable-pip-version-check "$@" >"$work/log" 2>&1
}
pip --retries 1 --timeout 10 install numpy pytest pandas pillow 'scikit-build-core>=0.10' ||
    skip "pip installs nothing here: $(grep -m 1 -i error "$work/log" | cut -c1-150)"

# Kept in the build folder, so that a second time compiles what has changed.
cd "$PADA_SOURCE" || exit 1
pip wheel . --no-deps --no-build-isolation -w "$work" -C build-dir="$PADA_BUILD/python-wheel" || fail 'the wheel is not built'
wheel=$(echo "$work"/pada-*-py3-none-*.whl)
[ -s "$wheel" ] || fail 'no wheel for every Python'
# An archive of the sources has what that takes.
"$work/env/bin/python" -c "from scikit_build_core.build import build_sdist; build_sdist('$work')" >"$work/log" 2>&1 ||
    fail 'no archive of the sources'
mkdir "$work/source" && tar -xzf "$work"/pada-*.tar.gz --strip-components 1 -C "$work/source" &&
    cmake -S "$work/source" -B "$work/source/build" -G Ninja -D PADA_WHEEL=ON -D PADA_CUDA=OFF >"$work/log" 2>&1 ||
    fail 'the archive of the sources'

pip install --no-index --find-links "$work" --no-deps "$wheel" || fail 'the wheel is not installed'

# From elsewhere, with nothing of the sources but the tests and the header they read.
cd "$work" || exit 1
unset PYTHONPATH PADA_LIBRARY
python=$work/env/bin/python
"$python" -m pytest -q -p no:cacheprovider --durations=5 "$PADA_SOURCE/python/tests" >"$work/log" 2>&1 || fail 'pytest'
grep -E ' (passed|failed)' "$work/log"
"$python" "$PADA_SOURCE/python/examples/images_to_onnx.py" builtin runs 2 >"$work/log" 2>&1 || fail 'images_to_onnx.py'
grep -q '^best of 10: |' "$work/log" || fail 'the best network of the example'
[ "$(wc -c <runs/network.onnx)" -gt 10000 ] || fail 'the network of the example'

# Type hints: of the package itself, and of the example as a program of somebody.
pip install mypy pandas-stubs || skip 'no mypy'
"$python" -m mypy --strict --cache-dir "$work/mypy" -p pada >"$work/log" 2>&1 || fail 'type hints of the package'
"$python" -m mypy --strict --cache-dir "$work/mypy" "$PADA_SOURCE/python/examples" >"$work/log" 2>&1 || fail 'type hints of the example'

# `import pada`, median of 10, without and with numpy.
"$python" - <<'END' || fail 'an import'
import statistics
import subprocess
import sys
import time


def milliseconds(program):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return 1000 * (time.perf_counter() - start)


nothing, pada, numpy = (statistics.median(milliseconds(program) for _ in range(10))
                        for program in ("pass", "import pada, sys; assert 'numpy' not in sys.modules", "import numpy"))
print(f"import pada {pada - nothing:.0f} ms, import numpy {numpy - nothing:.0f} ms, python itself {nothing:.0f} ms")
END
printf 'wheel of %d KiB\n' $(($(wc -c <"$wheel") / 1024))
