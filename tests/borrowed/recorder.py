# SPDX-License-Identifier: Apache-2.0
"""recorder.py - how a job is run under the recorder, and the proof that the recorder was there.

Two counts, taken while a job runs: recordings that were made (a process each), and processes that a look found, every 50 ms,
with our watch thread in them and without. A suite that starts its programs with an empty environment has the second kind."""
import ctypes
import os
import pathlib
import shutil
import struct
import threading

import job as jobs

IN_CREATE, IN_MOVED_TO, IN_NONBLOCK = 0x100, 0x80, 0o4000
LOOK_S = 0.05


class Recorder:
    """The recorder of one build, with folders of its own that belong to who runs the jobs."""

    def __init__(self, build, user, as_shipped=False):
        self.as_shipped = as_shipped
        self.stallbox = build / "tool/stallbox"
        self.closely = build / "tests/borrowed/closely"
        base = "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp"
        self.folder = pathlib.Path(base, f"borrowed-{os.getpid()}")
        self.recordings, self.spool, self.rows = (self.folder / name for name in ("recordings", "spool", "rows"))
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in (self.folder, self.recordings, self.spool, self.rows):
            path.mkdir(mode=0o700)
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)

    def prefix(self):
        return [self.stallbox, "run", "--quiet", "--spool", self.spool, "--"] + ([] if self.as_shipped else [self.closely])

    def env(self):
        return {"STALLBOX_RECORDINGS": str(self.recordings), "STALLBOX_ROWS": str(self.rows)}

    def forget(self):
        """What was kept of stalls is for nobody."""
        for path in list(self.spool.rglob("*.raw")) + list(self.spool.rglob("*.sbx")):
            path.unlink(missing_ok=True)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Witness:
    """with Witness(recorder) as seen: ... ; seen.starts, seen.with_us, seen.without."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.starts = 0
        self.looks = {}  # (pid, start time): [comm, looks without us, looks with us]
        self.over = threading.Event()

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.events = libc.inotify_init1(IN_NONBLOCK)
        libc.inotify_add_watch(self.events, os.fsencode(self.recorder.recordings), IN_CREATE | IN_MOVED_TO)
        self.thread = threading.Thread(target=self.look_on)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.count_starts()
        os.close(self.events)

    def count_starts(self):
        while True:
            try:
                data = os.read(self.events, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                length = struct.unpack_from("iIII", data, at)[3]
                name = data[at + 16:at + 16 + length].rstrip(b"\0")
                self.starts += name.endswith(b".rec")
                at += 16 + length

    def look_on(self):
        while not self.over.wait(LOOK_S):
            self.count_starts()
            for pid in jobs.descendants(os.getpid()):
                self.look_at(pid)

    def look_at(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                text = stat.read()
            comm, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            if rest[0] in "ZX" or comm == "stallbox":
                return
            known = self.looks.setdefault((pid, rest[19]), [comm, 0, 0])
            has_us = False
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8", errors="replace") as name:
                    has_us |= name.read().startswith("sbx-")
            known[0] = comm
            known[2 if has_us else 1] += 1
        except (OSError, ValueError):
            return

    @property
    def with_us(self):
        return sum(look[2] > 0 for look in self.looks.values())

    @property
    def without(self):
        """Processes that were seen twice and never with us: forked children (which are not recorded), static programs,
        those started with an empty environment."""
        return sorted({look[0] for look in self.looks.values() if look[2] == 0 and look[1] > 1})
