#!/usr/bin/env python3
"""The tools that judge the tree are judged here: small fake trees, messages and result files with known faults."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.environ.get("PADA_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


class Layers(unittest.TestCase):
    # Allowed includes and calls of every kind: this tree alone must pass.
    GOOD = {
        "src/base/mem.c": '#include "base/mem.h"\nvoid *f(void) { return malloc(1); }\n',
        "src/base/mem.h": "/* free(x) and #include \"cli/main.h\" in a comment */\n",
        "src/base/text.c": '#include "mem.h"\nconst char *s = "printf(1)"; char *e(void) { return getenv("X"); }\n',
        "src/tensor/tensor.h": '#include "base/mem.h"\n#include <stdio.h>\n',
        "src/backend/backend.h": '#include "tensor/tensor.h"\n',
        "src/backend/backend.c": '#include "backend/cpu/cpu.h"\n',
        "src/backend/cpu/cpu.h": '#include "backend/backend.h"\n#include "backend/cpu/cpu_simd.h"\n',
        "src/backend/cpu/cpu_simd.h": "",
        "src/graph/graph.h": '#include "backend/backend.h"\nvoid f(void) { ops->free(x); ops.free(x); snprintf(b); }\n',
        "src/space/space.h": '#include "graph/graph.h"\n',
        "src/cli/main.c": '#include "space/space.h"\nint main(void) { printf("x"); exit(0); }\n',
        "src/base/CMakeLists.txt": "",
        "src/cli/CMakeLists.txt": "",
        "include/pada.h": "#include <stdint.h>\n",
    }

    def check(self, **changes):
        with tempfile.TemporaryDirectory() as root:
            tree = dict(self.GOOD)
            tree.update(changes.get("files", {}))
            for path, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return run(os.path.join(ROOT, "tools/check-layers.py"), root)

    def assert_caught(self, path, text, expected):
        status, out, err = self.check(files={path: text})
        self.assertEqual(status, 1, out + err)
        self.assertIn(expected, out)
        self.assertIn("1 violations", out)

    def test_good_tree(self):
        status, out, err = self.check()
        self.assertEqual(status, 0, out + err)

    def test_upward(self):
        self.assert_caught("src/base/x.c", '\n#include "graph/graph.h"\n', "src/base/x.c:2: graph/graph.h goes up")

    def test_upward_in_angle_brackets(self):
        self.assert_caught("src/base/x.c", "# include <graph/graph.h>\n", "goes up")

    def test_upward_relative(self):
        self.assert_caught("src/base/x.c", '#include "../graph/graph.h"\n', "goes up")

    def test_upward_to_a_file_not_written_yet(self):
        self.assert_caught("src/base/x.c", '#include "study/rank.h"\n', "goes up")

    def test_sideways(self):
        self.assert_caught("src/data/x.c", '#include "space/space.h"\n', "goes sideways")

    def test_backend_from_outside(self):
        self.assert_caught("src/engine/x.c", '#include "backend/cpu/cpu.h"\n', "private to backend/cpu")

    def test_backend_from_another(self):
        self.assert_caught("src/backend/cuda/x.c", '#include "backend/cpu/cpu.h"\n', "private to backend/cpu")

    def test_backend_through_a_header(self):
        self.assert_caught("src/backend/x.h", '#include "backend/cpu/cpu.h"\n', "leak")

    def test_folder_without_layer(self):
        self.assert_caught("src/misc/x.c", "", "in no layer")

    def test_name_used_twice(self):
        self.assert_caught("src/op/mem.h", "", "used more than once")

    def test_banned_calls(self):
        for call, layer in [("malloc(1)", "op"), ("free (p)", "cli"), ("calloc(1, 1)", "base"), ("printf(s)", "base"),
                            ("fprintf(f, s)", "train"), ("puts(s)", "op"), ("exit(1)", "engine"), ("getenv(s)", "op")]:
            with self.subTest(call=call):
                self.assert_caught(f"src/{layer}/x.c", f"void f(void) {{ {call}; }}\n", "is banned here")

    def test_public_header(self):
        self.assert_caught("include/x.h", '#include "base/mem.h"\n', "public header")

    def test_no_sources(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(run(os.path.join(ROOT, "tools/check-layers.py"), root)[0], 1)


class Commits(unittest.TestCase):
    def check(self, message):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".msg") as file:
            file.write(message)
            file.flush()
            return run(os.path.join(ROOT, "tools/check-commit.sh"), file.name)

    def test_good(self):
        for message in ["base: add arenas", "build: find oneDNN\n\nWhy: it is a second oracle.\n",
                        "cli: use words\n# a comment of the editor\n", "docs: " + "x" * 66,
                        "docs: " + "\u00e9" * 66, "tests: embed a string", "bench: speed up the printer"]:
            with self.subTest(message=message):
                status, _, err = self.check(message)
                self.assertEqual(status, 0, err)

    def test_bad(self):
        for message in ["", "add arenas", "nowhere: add x", "base:add arenas", "base: added arenas", "base: Fixes it",
                        "base: add arenas.", "base: " + "x" * 67, "base: add x\nmore", "Merge branch 'x'",
                        "base: using arenas"]:
            with self.subTest(message=message):
                self.assertEqual(self.check(message)[0], 1)


class Totals(unittest.TestCase):
    XML = """<?xml version="1.0" encoding="UTF-8"?><testsuite name="x">
      <testcase name="a" status="run"/><testcase name="b" status="run"><system-out>failed</system-out></testcase>
      %s</testsuite>"""
    FAIL = '<testcase name="f" status="fail"><failure message="Failed"/></testcase>'
    SKIP = '<testcase name="s" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
    LOST = '<testcase name="l" status="notrun"><skipped message="Unable to find executable"/></testcase>'

    def sum(self, *texts, broken=0):
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for i, text in enumerate(texts):
                names.append(os.path.join(folder, f"{i}.xml"))
                if text is not None:
                    with open(names[-1], "w", encoding="utf-8") as file:
                        file.write(text)
            status, out, _ = run(os.path.join(ROOT, "tools/sum-tests.py"), "--broken", str(broken), *names)
            return status, out

    def test_totals(self):
        self.assertEqual(self.sum(self.XML % "", self.XML % self.SKIP), (0, "4 passed, 0 failed, 1 skipped\n"))
        self.assertEqual(self.sum(self.XML % self.FAIL, self.XML % ""), (1, "4 passed, 1 failed, 0 skipped\n"))

    def test_what_did_not_run_has_failed(self):
        self.assertEqual(self.sum(self.XML % self.LOST), (1, "2 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(self.sum(self.XML % "", None), (1, "2 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(self.sum(self.XML % "", broken=1), (1, "2 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(self.sum("<testsuite/>"), (1, "0 passed, 1 failed, 0 skipped\n"))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
