#!/bin/sh
# test_library.sh - docs/library.md: the installed library, through pkg-config, CMake and statically; its symbols.
needs_plain_build=yes
# shellcheck source=tests/docs/harness.sh
. "$(dirname "$0")/harness.sh"
command -v pkg-config >/dev/null || exit 77

cd "$work"
follow library.md

# Both programs say what the command line says.
pada eval --weights w.safetensors --channels 8 --cells 1 --arch-dialect list 3,3,4,1,3,1 --json >json
loss=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' json)
expect 'a result, three times' [ "$(grep -c ' of 1000 right, loss ' out)" = 3 ]
expect 'equal results' [ "$(grep 'right, loss' out | sort -u | wc -l)" = 1 ]
expect "the loss of pada eval, $loss" grep -qF "loss $(printf %.6f "$loss")" out
expect 'the program from images to predictions' grep -q '^10 classes, the first has 0\.' out
expect 'its network' grep -q '^best: |.*|, [0-9]* parameters$' out
expect 'its export' [ -s net.onnx ]
sizes='--channels 8 --cells 1 --epochs 2 --quiet'
# shellcheck disable=SC2086 # words
pada train $sizes --out runs/supernet >of_library && pada train $sizes --out runs/command >of_command
expect 'a training that the command goes on with' grep -q 'weights [0-9a-f]*$' of_library
expect 'the same weights' [ "$(sed 's/.*weights//' of_library)" = "$(sed 's/.*weights//' of_command)" ]
mv w.safetensors moved
expect 'a failure' test "$(./score 2>&1)" = 'score: w.safetensors: No such file or directory'
mv moved w.safetensors

# Only the functions of the header are in the shared library, and all of them.
sed -n '/^PADA_API/,/;/p' "$PADA_SOURCE/include/pada.h" | grep -o '\bpada_[a-z0-9_]*(' | tr -d '(' | sort -u >declared
nm -D --defined-only usr/lib/libpada.so | awk '{ print $3 }' | sort -u >exported
expect 'the symbols of the header' cmp declared exported
expect 'some symbols' [ "$(wc -l <exported)" -ge 15 ]

# The archive: no libpada.so is needed, in whatever prefix it is.
result=$(./score)
expect 'a program with the archive' test "$(LD_LIBRARY_PATH='' ./score-archive)" = "$result"
expect 'not without the library' sh -c '! LD_LIBRARY_PATH= ./score 2>err'
# shellcheck disable=SC2046 # words
cc -std=c11 -static score.c $(pkg-config --static --cflags --libs pada) -o static 2>err || { cat err; exit 1; }
expect 'a static program' test "$(LD_LIBRARY_PATH='' ./static)" = "$result"
sed 's/pada::pada)/pada::pada_static)/' app/CMakeLists.txt >app/static.txt && mv app/static.txt app/CMakeLists.txt
{ cmake -S app -B app/static && cmake --build app/static; } >err 2>&1 || { cat err; exit 1; }
rm -f usr/lib/libpada.so*
expect 'a program with the archive by CMake' test "$(LD_LIBRARY_PATH='' app/static/score)" = "$result"

# The header alone, as C11 and as C++.
for compiler in 'cc -x c -std=c11' 'c++ -x c++ -std=c++11'; do
    command -v "${compiler%% *}" >/dev/null || continue
    # shellcheck disable=SC2086 # words
    expect "$compiler" sh -c "echo '#include <pada.h>' | $compiler -Wall -Wextra -Wpedantic -Werror -Iusr/include -fsyntax-only -"
done

# ldconfig is run where the linker searches, and only there; else a line says what to set.
cat >bin/ldconfig <<'END'
#!/bin/sh
[ $# -eq 0 ] && echo run >>"$LDCONFIG_LOG"
printf '/lib: (from <builtin>:0)\n%s: (from /etc/ld.so.conf:1)\n' "$LDCONFIG_KNOWS"
END
chmod +x bin/ldconfig
LDCONFIG_LOG=$work/ldconfig.log
LDCONFIG_KNOWS=$work/known/lib
export LDCONFIG_LOG LDCONFIG_KNOWS
cmake --install "$PADA_BUILD" --prefix "$work/usr" >last
expect 'what to set' grep -qF "programs find libpada with LD_LIBRARY_PATH=$work/usr/lib, or when linked with -Wl,-rpath,$work/usr/lib" last
expect 'no ldconfig' [ ! -e ldconfig.log ]
DESTDIR=$work/package cmake --install "$PADA_BUILD" --prefix "$work/known" >last
expect 'no ldconfig for a package' [ ! -e ldconfig.log ]
cmake --install "$PADA_BUILD" --prefix "$work/known" >last
expect 'ldconfig' [ "$(cat ldconfig.log)" = run ]
expect 'nothing to set' sh -c '! grep -q "programs find" last'

# What else is installed, and what make would do.
for file in bin/pada lib/libpada.so.0 lib/cmake/pada/padaConfigVersion.cmake share/man/man1/pada.1 \
    share/man/man1/pada-train.1 share/bash-completion/completions/pada share/zsh/site-functions/_pada \
    share/doc/pada/README.md share/doc/pada/docs/tour.md; do
    expect "$file" [ -s "usr/$file" ]
done
expect 'a page per command' [ "$(find usr/share/man -name '*.1' | wc -l)" = "$(($(grep -c '^PADA_COMMAND' "$PADA_SOURCE/src/cli/commands.def") + 1))" ]
/usr/bin/env -u MAKEFLAGS PATH="${PATH#*:}" make -C "$PADA_SOURCE" -n install NO_DEPS=1 DESTDIR=/d prefix=/p >plan
expect 'make install' grep -qF 'DESTDIR="/d" cmake --install build/release --prefix "/p"' plan
DESTDIR=$work/d cmake --install "$PADA_BUILD" --prefix /usr >/dev/null
expect 'DESTDIR' [ -x d/usr/bin/pada ]
PKG_CONFIG_PATH=$work/d/usr/lib/pkgconfig
# shellcheck disable=SC2046 # words
cc -std=c11 score.c $(pkg-config --cflags --libs pada) -o moved
expect 'a program of DESTDIR' test "$(LD_LIBRARY_PATH=$work/d/usr/lib ./moved)" = "$(./score)"
echo 'the library is as docs/library.md says'
