#!/usr/bin/env python3
"""Turns a .cu file into C++ for emulate.h: rewrite.py FROM.cu TO.cc"""
import re
import sys

source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    text = file.read()
text = re.sub(r"\b(\w+(?:<[\w, ]+>)?)<<<(.*?)>>>\(", r"emulate_launch(\1, \2)(", text, flags=re.DOTALL)
# Arguments that a kernel declares to be read only are not copied for every thread.
text = re.sub(r"const __grid_constant__ (\w+) (\w+)", r"const \1 &\2", text)
with open(target, "w", encoding="utf-8") as file:
    file.write(f'#include "emulate.h"\n#line 1 "{source}"\n{text}')
