#!/bin/sh
# harness.sh - sourced by the tests of the guides: a folder in which a guide is followed, and stand-ins for what it
# would do to the machine.
#
#   make, sudo make install   the build under test is what they would make: it is installed below $work/usr, first in PATH
#   follow GUIDE              runs its blocks in the current folder; ends the test with 1 where they fail
#   expect NAME CONDITION..   ends the test with 1 where a command fails

: "${PADA_SOURCE:?is the root of the source}" "${PADA_BUILD:?is the build folder}"
if [ -n "${PADA_SANITIZE-}" ] && [ "$PADA_SANITIZE" != OFF ] && [ -n "${needs_plain_build-}" ]; then
    echo 'skipped: programs outside do not link sanitizers'
    exit 77
fi
command -v python3 >/dev/null || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"

mkdir "$work/bin"
cat >"$work/bin/make" <<END
#!/bin/sh
case "\$*" in
*install*) exec cmake --install "$PADA_BUILD" --prefix "$work/usr" >/dev/null ;;
esac
END
cat >"$work/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
chmod +x "$work/bin/make" "$work/bin/sudo"
PATH=$work/bin:$work/usr/bin:$PATH
LD_LIBRARY_PATH=$work/usr/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
CMAKE_PREFIX_PATH=$work/usr
export PATH LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH

follow() {
    python3 "$PADA_SOURCE/tests/docs/guide.py" "$PADA_SOURCE/docs/$1" >"$work/guide.sh" || exit 1
    if ! sh "$work/guide.sh" >"$work/out" 2>"$work/err"; then
        tail -5 "$work/out" | cut -c1-200
        tail -5 "$work/err" | cut -c1-200
        echo "FAILED: docs/$1"
        exit 1
    fi
}

expect() {
    what=$1
    shift
    "$@" && return
    tail -5 "$work/out" | cut -c1-200
    echo "FAILED: $what"
    exit 1
}

has() {
    grep -qF -- "$2" "$1"
}
