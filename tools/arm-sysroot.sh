#!/bin/sh
# arm-sysroot.sh - the libraries of the build for arm64, unpacked into build/arm-sysroot. Debian only.
#
# apt resolves and fetches them with lists, status and cache of its own, below build/, so that the packages of this
# machine stay as they are. Nothing is done when the folder is there.
set -eu
cd "$(dirname "$0")/.."

packages='libc6-dev libgomp1 libjansson-dev libyaml-dev libxxhash-dev librandom123-dev libpng-dev libjpeg-dev libwebp-dev libcmocka-dev
    libjs-chart.js'
root=$PWD/build/arm-sysroot
[ ! -e "$root" ] || exit 0

apt=$PWD/build/arm-apt
rm -rf "$root.part"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$root.part"
: >"$apt/status" # nothing is installed there
arm_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$apt/state" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
arm_apt update
# shellcheck disable=SC2086 # the list is split into words on purpose
arm_apt install -y --no-install-recommends --download-only $packages
for archive in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$archive" "$root.part"
done

# Absolute links would lead out of the folder.
find "$root.part" -type l -lname '/*' | while read -r link; do
    ln -sfn "$root$(readlink "$link")" "$link"
done
mv "$root.part" "$root"
