#!/bin/sh
# test_configure.sh - PADA_CUDA: without a compiler that works the build is one without CUDA, and says why.
set -eu
: "${PADA_SOURCE:?is the root of the source}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# configured CUDACXX PADA_CUDA TEXT: cmake succeeds, and its summary has the text.
configured() {
    rm -rf "$work/build"
    CUDACXX=$1 cmake -S "$PADA_SOURCE" -B "$work/build" -G Ninja -DPADA_TESTS=OFF -DPADA_CUDA="$2" >"$work/out" 2>&1 || {
        tail -5 "$work/out"
        echo "FAILED: PADA_CUDA=$2 with $1"
        exit 1
    }
    grep -qF "$3" "$work/out" || {
        grep -e '-- pada' "$work/out" || true
        echo "FAILED: no '$3'"
        exit 1
    }
}

printf '#!/bin/sh\necho "nvcc: no such host compiler" >&2\nexit 1\n' >"$work/nvcc"
chmod +x "$work/nvcc"
configured "$work/nvcc" AUTO 'CUDA no (nvcc did not work when it was built)'
configured "$work/nvcc" OFF 'CUDA no (built with PADA_CUDA=OFF)'
if CUDACXX=$work/nvcc cmake -S "$PADA_SOURCE" -B "$work/on" -G Ninja -DPADA_TESTS=OFF -DPADA_CUDA=ON >"$work/out" 2>&1; then
    echo 'FAILED: PADA_CUDA=ON with a compiler that does not work'
    exit 1
fi

nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || nvcc=
if [ -n "$nvcc" ]; then
    configured "$nvcc" AUTO ' for 75 80 90'
    grep -q 'arch=compute_80,code=\[\{0,1\}sm_80' "$work/build/build.ninja" || {
        echo 'FAILED: no code for sm_80'
        exit 1
    }
fi
echo 'PADA_CUDA is as it should be'
