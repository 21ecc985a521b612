#!/usr/bin/env python3
"""Turns a guide into a shell script that follows it literally: guide.py GUIDE.md > SCRIPT

  ```sh          the commands are run, in one shell that ends at the first failure
  ```LANG FILE   the block is written to FILE
  ```text, ```   shown only; an error if a line of it starts with a command of this project
"""
import re
import sys

FENCE = re.compile(r"^```(\S*)[ \t]*(\S*)[ \t]*$")
COMMAND = re.compile(r"^\s*(\$ )?(sudo )?(pada|make|cmake|cc) ")
END = "END_OF_THE_BLOCK"


def blocks(path):
    """(line number, language, file name, lines) of every fenced block."""
    start, language, name, lines = 0, "", "", []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = FENCE.match(line)
            if match and not start:
                start, language, name, lines = number, match[1], match[2], []
            elif match:
                yield start, language, name, lines
                start = 0
            elif start:
                lines.append(line)
    if start:
        sys.exit(f"{path}:{start}: the block does not end")


def main():
    path = sys.argv[1]
    n_commands = 0
    print("set -eu")
    for number, language, name, lines in blocks(path):
        if language == "sh" and not name:
            for line in lines:
                n_commands += 1
                print(f"echo '== {path}:{number}:' {quote(line.strip())} >&2")
                print(line, end="")
        elif name:
            print(f"mkdir -p \"$(dirname '{name}')\"\ncat > '{name}' <<'{END}'")
            print("".join(lines) + END)
        elif any(COMMAND.match(line) for line in lines):
            sys.exit(f"{path}:{number}: commands in a block that is not run; mark it sh")
    if n_commands == 0:
        sys.exit(f"{path}: no commands")


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    main()
