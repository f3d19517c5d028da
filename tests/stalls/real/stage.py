# SPDX-License-Identifier: Apache-2.0
"""stage.py - where one real program is stalled: its folder, its processes, its reports."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
REPORT_SECONDS = 30


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(program + " is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("no " + what + " within " + str(seconds) + " s")
        time.sleep(0.05)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def get(port, path="/"):
    """The body of the answer; empty when there is none."""
    return subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}{path}"], check=False, timeout=60, stdout=subprocess.PIPE).stdout


class Stage:
    """A folder, a spool, and the processes that were started for one case: they end with it."""

    def __init__(self, options, name):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="real-" + name + "-", dir="/var/tmp")
        self.spool = os.path.join(self.folder, "spool")
        self.folders, self.processes = [self.folder], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.stdin:
                process.stdin.close()  # slow_disk ends by that, and unmounts
            else:
                process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.options.keep:
            shutil.copytree(self.spool, os.path.join(self.options.keep, os.path.basename(self.folder)), dirs_exist_ok=True)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, command, **more):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    def record(self, command, *options, prefix=(), **more):
        options = options or ("--anr-ms", "0", "--slow-message-ms", "1000")
        return self.start([*prefix, self.options.stallbox, "run", "--spool", self.spool, *options, "--", *command], **more)

    def is_recorded(self, pid):
        return subprocess.run([self.options.stallbox, "ctl", str(pid), "status"], capture_output=True, check=False).returncode == 0

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def slow_disk(self, *options):
        if os.getuid() != 0 or not os.path.exists("/dev/fuse"):
            raise Skip("needs root and /dev/fuse")
        folder = os.path.join(self.folder, "slow")
        os.mkdir(folder)
        process = subprocess.Popen([os.path.join(HERE, "slow_disk"), folder, *options], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.processes.append(process)
        if process.stdout.readline() != b"mounted\n":
            raise Skip("no FUSE here")
        return folder

    def reports(self):
        found = subprocess.run([self.options.stallbox, "report", "--format", "json", self.spool], capture_output=True,
                               check=False, text=True)
        return [json.loads(line) for line in found.stdout.splitlines()]

    def report(self, count=1):
        """The newest of so many reports, once they are there."""
        wait_for(lambda: len(self.reports()) >= count, REPORT_SECONDS, "report")
        unnamed = re.compile(r"function [0-9a-f]{16}")  # the recorder's thread writes names of runtimes when it gets a processor
        wait_for(lambda: not any(unnamed.search(report["headline"]) for report in self.reports()), 10, "names")
        if self.options.text:
            subprocess.run([self.options.stallbox, "report", "--all", self.spool], check=False)
        return max(self.reports(), key=lambda report: report["trigger"]["duration_ms"])

    def no_report(self):
        time.sleep(1)
        found = self.reports()
        return found[0] if found else None
