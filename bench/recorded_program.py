# SPDX-License-Identifier: Apache-2.0
"""recorded_program - a program under `stallbox run`, as the benchmarks of whole programs start it.

It lies beside them in the build folder, and finds there what they run."""
import contextlib
import os
import shutil
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STALLBOX = os.path.normpath(os.path.join(HERE, "../tool/stallbox"))
ORDER = os.path.join(HERE, "capture_order")  # tells a recorder what to record


def child_of(process):
    """The process that `stallbox run`, started as `process`, has started. None when there is none within five seconds."""
    for _ in range(500):
        try:
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as children:
                pids = children.read().split()
        except OSError:
            return None
        if pids:
            return int(pids[0])
        time.sleep(0.01)
    return None


@contextlib.contextmanager
def own_folders():
    """A temporary folder to work in, and for `stallbox run` recordings in memory and compiled rows of this benchmark alone.
    Gives the first; all is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="stallbox-bench.") as work:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else work
        recordings = os.path.join(memory, "stallbox-bench-%d" % os.getpid())
        os.chmod(work, 0o755) # a server may run as another user
        os.mkdir(recordings, 0o755)
        os.environ["STALLBOX_RECORDINGS"] = os.path.join(recordings, "own")
        os.environ["STALLBOX_ROWS"] = os.path.join(work, "rows")
        try:
            yield work
        finally:
            shutil.rmtree(recordings, ignore_errors=True)


def at(values, rank):
    """The value at `rank`: 0 the smallest, 0.5 the median, 1 the largest."""
    return sorted(values)[int(rank * (len(values) - 1) + 0.5)]
