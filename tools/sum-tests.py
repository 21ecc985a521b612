#!/usr/bin/env python3
"""Adds up JUnit files of ctest and prints "N passed, N failed, N skipped" as the only line on stdout.

A test is skipped if it said so (exit status 77, SKIP_RETURN_CODE) or is disabled. One that could not run, for
example because its program was not built, has failed. So has a file that is absent, empty or not readable.
Exits with 1 if anything failed.
"""
import argparse
import sys
import xml.etree.ElementTree as ElementTree


def verdict(case):
    status = case.get("status")
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if status == "run" and skipped is None:
        return "passed"
    if status == "disabled":
        return "skipped"
    message = "" if skipped is None else skipped.get("message", "")
    return "skipped" if message.startswith("SKIP_") else "failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--broken", type=int, default=0, help="further failures: presets that did not build")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()

    totals = {"passed": 0, "failed": args.broken, "skipped": 0}
    for path in args.files:
        try:
            cases = ElementTree.parse(path).getroot().findall(".//testcase")
        except (OSError, ElementTree.ParseError) as error:
            print(f"sum-tests: {path}: {error}", file=sys.stderr)
            cases = []
        if not cases:
            print(f"sum-tests: {path}: no results", file=sys.stderr)
            totals["failed"] += 1
        for case in cases:
            result = verdict(case)
            totals[result] += 1
            if result != "passed":
                print(f"sum-tests: {path}: {case.get('name')} {result}", file=sys.stderr)
    sys.stderr.flush()
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**totals), flush=True)
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
