#!/bin/sh
# install-deps.sh - installs the packages that the build needs and that are missing (Debian 12, Ubuntu 24.04).
#
# Silent, and without network, when nothing is missing. --report also lists what was found; --fuzz and --arm are about
# what `make fuzz` and `make test-arm` need besides. NO_DEPS=1 skips the whole check, for systems without apt and for
# libraries that do not come from packages.
set -eu

# Alternatives are separated by '|'; the first one is what gets installed.
# libc6-dev is only recommended by gcc; git is used for the version string alone; without Open MPI the program is built
# without teams of processes.
required='gcc libc6-dev make cmake ninja-build pkg-config|pkgconf libjansson-dev libyaml-dev libxxhash-dev
          librandom123-dev libpng-dev libjpeg-dev|libjpeg62-turbo-dev|libjpeg-turbo8-dev
          libwebp-dev libjs-chart.js libcmocka-dev libopenmpi-dev openmpi-bin python3 git'

report=no
for option in "$@"; do
    case $option in
    --report) report=yes ;;
    --fuzz) required="$required clang libclang-rt-dev|libclang-rt-14-dev|libclang-rt-18-dev libomp-dev|libomp-14-dev" ;;
    --arm) required="$required gcc-aarch64-linux-gnu qemu-user" ;;
    *)
        echo "usage: $0 [--report] [--fuzz] [--arm]" >&2
        exit 2
        ;;
    esac
done

die()
{
    echo "install-deps: $*" >&2
    exit 1
}

is_installed()
{
    case "$(dpkg-query -W -f '${db:Status-Status} ' "$1" 2>/dev/null || true)" in
    *not-installed*) return 1 ;;
    *installed*) return 0 ;;
    *) return 1 ;;
    esac
}

say_found()
{
    [ "$report" = no ] || printf '  %-18s %s\n' "$1" "$2"
}

if [ -n "${NO_DEPS-}" ] && [ "$NO_DEPS" != 0 ]; then
    say_found "NO_DEPS=$NO_DEPS" 'packages not looked at'
    exit 0
fi

if ! command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2086 # the list is split into words on purpose
    die "no dpkg here, so packages cannot be checked. Install the equivalents of" $required \
        "and run make again with NO_DEPS=1"
fi

missing=
for entry in $required; do
    found=
    for package in $(echo "$entry" | tr '|' ' '); do
        if is_installed "$package"; then
            found=$package
            break
        fi
    done
    if [ -n "$found" ]; then
        say_found "$found" "$(dpkg-query -W -f '${Version}' "$found")"
    else
        missing="$missing ${entry%%|*}"
    fi
done

# Optional parts are used when the machine has them and are never installed from here.
if [ "$report" = yes ]; then
    if is_installed libdnnl-dev; then
        say_found libdnnl-dev "$(dpkg-query -W -f '${Version}' libdnnl-dev) (optional)"
    else
        say_found libdnnl-dev 'absent (optional: second oracle in tests and benchmarks)'
    fi
    if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
        say_found CUDA 'nvcc found (optional)'
    else
        say_found CUDA 'absent (optional: CUDA backend)'
    fi
fi

[ -n "$missing" ] || exit 0

echo "install-deps: missing:$missing" >&2
command -v apt-get >/dev/null || die "no apt-get here; install them and run make again"

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo; as root run: apt-get install$missing"
    as_root=sudo
    [ -t 0 ] || as_root='sudo -n' # nobody there to type a password
fi

# shellcheck disable=SC2086 # both lists are split into words on purpose
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 ||
        die "apt-get update failed (see above); by hand: apt-get install$missing"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2 ||
        die "apt-get install failed (see above); by hand: apt-get install$missing"
}
