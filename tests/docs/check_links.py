#!/usr/bin/env python3
"""Links between documents lead somewhere, every document is linked, README lists every command: check_links.py ROOT"""
import glob
import os
import re
import sys

root = sys.argv[1]
problems = []
linked = {"README.md"}


def note(path, line):
    problems.append(f"{os.path.relpath(path, root)}: {line}")


documents = [path for pattern in ("*.md", "docs/**/*.md") for path in glob.glob(os.path.join(root, pattern), recursive=True)]
for path in sorted(documents):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" in target:
            continue
        full = os.path.normpath(os.path.join(os.path.dirname(path), target))
        linked.add(os.path.relpath(full, root))
        if not os.path.exists(full):
            note(path, f"no such file: {target}")
for path in documents:
    name = os.path.relpath(path, root)
    if name not in linked and os.path.dirname(name) not in linked:
        note(path, "no document links here")

with open(os.path.join(root, "src/cli/commands.def"), encoding="utf-8") as file:
    commands = re.findall(r"^PADA_COMMAND\((\w+)\)", file.read(), flags=re.MULTILINE)
with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
    readme = file.read()
for command in commands:
    if not re.search(rf"^\| .*`pada {command}\b", readme, flags=re.MULTILINE):
        note(os.path.join(root, "README.md"), f"the table of commands lacks {command}")

print("\n".join(problems) or f"{len(documents)} documents, {len(commands)} commands: all linked, all listed")
sys.exit(1 if problems else 0)
