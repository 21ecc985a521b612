# cmake -D IN=table.csv -D OUT=table.c -P embed_truth.cmake: the bytes of a table as C.
file(READ ${IN} digits HEX)
string(LENGTH "${digits}" n_digits)
math(EXPR bytes "${n_digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," items "${digits}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
  "\\1\n    " items "${items}")
file(WRITE ${OUT} "/* Made from builtin_truth.csv by embed_truth.cmake. */
#include \"study/builtin_truth.h\"

const char pada_builtin_truth[] = {
    ${items}0};
const size_t pada_builtin_truth_bytes = ${bytes};
")
