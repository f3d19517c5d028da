# SPDX-License-Identifier: Apache-2.0
"""job.py - one program of a test suite, run once: in a folder of its own, with a time-out, and with nothing left behind.

A job is the smallest thing of a suite that can be run by itself; it has one case or thousands."""
import ctypes
import dataclasses
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import typing

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 1, 36, 0x40000000, 0x8914, 1


@dataclasses.dataclass
class Job:
    name: str
    argv: list
    verdicts: typing.Callable  # of a Result: {case: verdict}; what a verdict is: verdicts.py
    cwd: str | None = None  # None: a new, empty folder
    env: dict = dataclasses.field(default_factory=dict)  # besides PATH, HOME, TMPDIR, LANG
    time_out: float = 120


@dataclasses.dataclass
class Result:
    status: int | None  # as subprocess says it: below 0 is a signal; None: time was up
    output: str  # of both standard streams
    folder: pathlib.Path  # where it ran; gone when the verdicts are known
    seconds: float
    left: list = dataclasses.field(default_factory=list)  # names of processes that were still there when it had ended

    def ended(self):
        """How it ended, as a verdict of its own."""
        if self.status is None:
            return "time-out"
        return "pass" if self.status == 0 else f"signal {-self.status}" if self.status < 0 else f"exit {self.status}"


def adopt_orphans():
    """Whatever our jobs leave running becomes a child of ours, so that end_all_children() finds it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(clean_up):
    """A worker whose parent is gone ends its job and itself."""
    def end(*_):
        end_all_children()
        clean_up()
        os._exit(143)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def leave_network():
    """A network of our own, with a loopback device and nothing else: suites take the ports they like, two at a time, and none of
    them asks the world. Only root may; False otherwise."""
    if os.getuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return True


def descendants(pid):
    """Every process below `pid`, as the kernel tells it; some may be gone by the time of reading."""
    found, wanted = [], [pid]
    while wanted:
        parent = wanted.pop()
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as children:
                    below = [int(word) for word in children.read().split()]
                    found += below
                    wanted += below
        except OSError:
            continue
    return found


def names_of_children():
    """What is left of a job once it has ended; a companion goes on as long as they do. What is just ending gets a second."""
    for _ in range(20):
        names = []
        for pid in descendants(os.getpid()):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                    comm, rest = stat.read().partition("(")[2].rsplit(")", 1)
                if rest.split()[0] not in "ZX" and os.path.basename(os.readlink(f"/proc/{pid}/exe")) != "stallbox":
                    names.append(comm)
            except (OSError, ValueError):
                pass
        if not names:
            break
        time.sleep(0.05)
    return sorted(names)


def end_all_children():
    """Kill what is left of a job. A worker runs one job at a time, so whatever is below it belongs to that job."""
    deadline = time.monotonic() + 10
    while (left := descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.005)


def set_limits(address_space):
    """In the child, before it becomes the program."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if address_space:
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what it starts would inherit that


def make_folder(user):
    """A new folder that belongs to `user` (a pwd entry; None: to us). Short: sockets' names have 107 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="b.", dir="/tmp"))
    for path in (folder, folder / "home", folder / "tmp", folder / "cwd"):
        path.mkdir(exist_ok=True)
        if user:
            os.chown(path, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    return folder


def run(job, user, prefix=(), extra_env=None, address_space=0):
    """Run `job` with `prefix` before its command, as `user`. Returns its Result and {case: verdict}."""
    folder = make_folder(user)
    env = {"PATH": PATH, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
           "USER": user.pw_name if user else "root", "LOGNAME": user.pw_name if user else "root", "SHELL": "/bin/sh"}
    env.update({name: value.replace("{folder}", str(folder)) for name, value in job.env.items()})
    env.update(extra_env or {})
    argv = [str(word).replace("{folder}", str(folder)) for word in [*prefix, *job.argv]]
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    began = time.monotonic()
    with open(folder / "output", "w+b") as output:
        child = subprocess.Popen(argv, cwd=job.cwd or folder / "cwd", env=env, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True,
                                 preexec_fn=lambda: set_limits(address_space), **who)
        try:
            status = child.wait(job.time_out)
        except subprocess.TimeoutExpired:
            status = None
        seconds = time.monotonic() - began
        left = names_of_children() if status is not None else []
        end_all_children()
        child.wait()
        output.seek(0)
        text = output.read(64 << 20).decode("utf-8", "backslashreplace")
    result = Result(status, text, folder, seconds, left)
    try:
        cases = job.verdicts(result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ended = result.ended()
    if not cases:
        cases = {job.name: ended}
    elif ended.startswith(("signal", "time-out")):
        cases[f"{job.name} ends"] = ended
    return result, cases
