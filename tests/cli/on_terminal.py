#!/usr/bin/env python3
"""Runs a command whose standard error is a terminal of 60 columns: on_terminal.py COMMAND...

Standard output is the command's; what the terminal got follows on standard error as it is. The exit code is passed on.
"""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

leader, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
attributes = termios.tcgetattr(terminal)
attributes[1] &= ~termios.OPOST  # newlines stay newlines
termios.tcsetattr(terminal, termios.TCSANOW, attributes)
process = subprocess.Popen(sys.argv[1:], stderr=terminal)
os.close(terminal)
while True:
    try:
        piece = os.read(leader, 65536)
    except OSError:  # the other end is closed
        break
    if not piece:
        break
    sys.stderr.buffer.write(piece)
sys.exit(process.wait())
