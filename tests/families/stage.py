# SPDX-License-Identifier: Apache-2.0
"""stage.py - where a family of processes plays: once bare and once recorded, with all that can be seen of it written down."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds that anything here may take on a busy machine


class Skip(Exception):
    """What is missing on this machine."""


class Trouble(Exception):
    """What did not happen in time."""


def need(*programs):
    found = [shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") for program in programs]
    for program, path in zip(programs, found):
        if path is None:
            raise Skip(program + " is not installed")
    return found[0] if len(found) == 1 else found


def need_root():
    if os.getuid() != 0:
        raise Skip("needs root")


def wait_for(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Trouble("no " + what + f" within {seconds} s")
        time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(pid):
    """Living children, oldest first."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split() if is_alive(int(word))]
    except OSError:
        return []


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


class Stage:
    """One run of one family. `transcript` is what outsiders see of it; two runs have to have the same."""

    def __init__(self, options, name, recorded):
        self.options, self.recorded = options, recorded
        self.folder = tempfile.mkdtemp(prefix=f"family-{name}-", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        self.recordings = tempfile.mkdtemp(prefix="family-", dir="/dev/shm")
        self.spool = os.path.join(self.folder, "spool")
        os.mkdir(self.spool, 0o700)
        self.transcript, self.processes, self.attended, self.user = [], [], set(), None
        self.folders = [self.folder, self.recordings]
        self.steps_aside = False  # the recorder leaves this family alone, and says so
        self.daemons = []  # first processes that nobody here is the parent of
        self.expected = []  # patterns of what has to be told, and nothing else
        self.borne = r"$^"  # pattern of what may be told besides
        self.names = {self.folder: "FOLDER"}  # what differs between two runs, and what stands for it

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                for pid in [*children_of(process.pid), process.pid]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                process.wait()
        for pid in [child for daemon in self.daemons for child in [*children_of(daemon), daemon]] + self.companions():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        for folder in self.folders[1 if self.options.keep else 0:]:
            shutil.rmtree(folder, ignore_errors=True)

    # ---- what is seen ----

    def plain(self, text):
        for old in sorted(self.names, key=len, reverse=True):
            text = text.replace(str(old), self.names[old])
        return text

    def say(self, what, *facts):
        self.transcript.append(self.plain(what + ": " + " ".join(str(fact) for fact in facts)))

    def run(self, what, command, **more):
        """A client's whole answer: status, output, errors."""
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE, **more)
        self.say(what, f"status {done.returncode}")
        for line in (done.stdout + done.stderr).splitlines():
            self.say("    ", line)
        return done

    def log(self, what, path, drop=r"$^", once=False, **patterns):
        """The lines of a log without what differs between any two runs, sorted, because processes write at the same time, and how often
        each stands there (`once`: that chance decides)."""
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in self.plain(file.read()).splitlines() if not re.search(drop, line)]
        for replacement, pattern in patterns.items():
            lines = [re.sub(pattern, replacement.upper(), line) for line in lines]
        for line, count in sorted(collections.Counter(lines).items()):
            self.say(what, line, "" if once else f"({count} times)")

    # ---- what runs ----

    def port(self, name="PORT"):
        port = free_port()
        self.names[str(port)] = name
        return port

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def own(self, user):
        """What is started from here on runs as this user, companion and all."""
        self.user = user
        for path in (self.folder, self.recordings, self.spool):
            shutil.chown(path, user, user)

    def start(self, command, **more):
        """The family's first process, under the recorder where this run is that one. Its streams go to the file `out`."""
        environment = {**os.environ, **more.pop("env", {})}
        if self.recorded:
            environment.update(STALLBOX_RECORDINGS=self.recordings, STALLBOX_ROWS=os.path.join(self.recordings, "rows"))
            command = [self.options.stallbox, "run", "--quiet", "--spool", self.spool, "--", *command]
        if self.user:
            command = ["setpriv", "--reuid=" + self.user, "--regid=" + self.user, "--init-groups", *command]
        # "ab": a server truncates nothing of what another wrote.
        with open(os.path.join(self.folder, "out"), "ab") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                       env=environment, **more)
        self.processes.append(process)
        return process

    def main_pid(self, process):
        """The family's first process itself: `stallbox run` stands before it."""
        if not self.recorded:
            return process.pid
        return wait_for(lambda: next(iter(children_of(process.pid)), None) or process.poll() is not None, "first process")

    def daemon(self, pid_file, but=None):
        """The pid in a file, once it is there and another than `but`."""
        def look():
            try:
                with open(os.path.join(self.folder, pid_file), encoding="ascii") as file:
                    pid = int(file.read() or 0)
            except (OSError, ValueError):
                return None
            return pid if pid != but and is_alive(pid) else None
        pid = wait_for(look, "pid in " + pid_file)
        self.daemons.append(pid)
        return pid

    def watch(self, *pids):
        """Recorded: these processes have to have a recording now or soon."""
        if self.recorded:
            for pid in pids:
                wait_for(lambda: self.is_recorded(pid) or not is_alive(pid), f"recording of {command_of(pid)}")
                self.attended.add(pid)

    def is_recorded(self, pid):
        """A file is there before the recorder has begun; then it answers."""
        return self.has_file(pid) and subprocess.run(
            [self.options.stallbox, "ctl", str(pid), "status"], capture_output=True, check=False).returncode == 0

    def has_file(self, pid):
        return bool(glob.glob(f"{self.recordings}/{pid}-*.rec"))

    def watch_any(self, *pids, answers=False):
        """One of them at least: a worker that gives up its rights waits for its recorder, but not for ever where the machine is busy.
        Returns one that is recorded; bare the last."""
        def look():
            return next((pid for pid in reversed(pids) if (self.is_recorded(pid) if answers else self.has_file(pid))), None)
        return wait_for(look, f"recording of any of {[command_of(pid) for pid in pids]}") if self.recorded else pids[-1]

    def end(self, what, process, number=signal.SIGTERM):
        """Ask the first process to end, and say how it did."""
        os.kill(self.main_pid(process), number)
        self.say(what, f"status {process.wait(PATIENCE)}")

    def companions(self):
        own = "run --attend"
        return [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/cmdline")
                if own in command_of(path.split("/")[2]) and self.spool in command_of(path.split("/")[2])]

    def leftovers(self):
        """What the recorder left behind once everything has ended; nothing is right."""
        left = []
        try:
            wait_for(lambda: not self.companions(), "end of the companion")
        except Trouble as trouble:
            left.append(str(trouble))
        return left + [path for path in self.files() if not self.is_taken_by_the_next(path)]

    def files(self):
        return [path for path in glob.glob(self.recordings + "/*") if os.path.isfile(path)]

    def is_taken_by_the_next(self, path):
        """Who ends while its recorder begins, and while the companion takes its last look, leaves a file without a header."""
        try:
            with open(path, "rb") as file:
                if any(file.read(8)):
                    return False
        except FileNotFoundError:
            return True
        self.start(["true"]).wait(PATIENCE)
        return path not in self.files()

    def unexpected(self):
        """What was told and should not have been, or not told and should have been. That a busy machine has no processor for a
        program, or that its disk takes long to be in step, is true and no matter here."""
        answer = subprocess.run([self.options.stallbox, "report", "--all", "--format", "json", self.spool], capture_output=True, text=True,
                                check=False)
        told = [json.loads(line) for line in answer.stdout.splitlines()]
        told = [(f"{one['trigger']['kind']}: {one['headline']}", one["attribution"]["class"]) for one in told]
        wrong = []
        for pattern in self.expected:
            found = next((one for one in told if re.search(pattern, one[0])), None)
            if found is None:
                wrong.append(f"not told: {pattern}; {len(told)} others were")
            else:
                told.remove(found)
        machines = re.compile(r"\((fsync|fdatasync|syncfs|msync)\)")
        return wrong + ["told: " + line for line, kind in told
                        if kind != "runnable" and not machines.search(line) and not re.search(self.borne, line)]
