"""A command whose output nobody reads ends quietly, also where SIGPIPE is ignored, as under systemd."""

import os
import subprocess

from support import PROGRAM


def ended(*arguments, errors=subprocess.PIPE):
    """The exit code and what stands on standard error, with a standard output that is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        # Python ignores the signal, and the command inherits that.
        done = subprocess.run(
            [PROGRAM, *arguments], stdout=writer, stderr=errors or writer, timeout=60, check=False,
            restore_signals=False)
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def test_answer_that_nobody_reads():
    assert ended("errors") == (141, b"")


def test_complaint_that_nobody_reads():
    code, _ = ended(
        "messages", "list", "--app", "garden", "--url", "http://127.0.0.1:1", "--key-file", __file__, errors=None)
    assert code == 77
