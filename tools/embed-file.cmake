# cmake -D IN=file -D OUT=file.c -D NAME=pada_x -D HEADER=layer/x.h -P embed-file.cmake: the bytes of a file as C.
#
# OUT defines `const char NAME[]`, which ends with a further zero byte, and `const size_t NAME_bytes`, as HEADER
# declares them.
file(READ ${IN} digits HEX)
string(LENGTH "${digits}" n_digits)
math(EXPR bytes "${n_digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," items "${digits}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
  "\\1\n    " items "${items}")
get_filename_component(name ${IN} NAME)
file(WRITE ${OUT} "/* Made from ${name} by embed-file.cmake. */
#include \"${HEADER}\"

const char ${NAME}[] = {
    ${items}0};
const size_t ${NAME}_bytes = ${bytes};
")
