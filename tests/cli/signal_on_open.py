#!/usr/bin/env python3
"""signal_on_open.py SIGNAL FILE COMMAND...: runs a command and sends it the signal when it opens the file.

Exits with the code of the command, or 128 + the signal that ended it. SIGNAL is a name: TERM."""
import ctypes
import os
import select
import signal
import subprocess
import sys

IN_OPEN = 0x20
SECONDS = 60


def main():
    number = getattr(signal, "SIG" + sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init()
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(sys.argv[2]), IN_OPEN) < 0:
        sys.exit("inotify: " + os.strerror(ctypes.get_errno()))
    child = subprocess.Popen(sys.argv[3:])
    if not select.select([watch], [], [], SECONDS)[0]:
        child.kill()
        sys.exit(f"{sys.argv[2]} was not opened")
    child.send_signal(number)
    code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
