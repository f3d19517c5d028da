# SPDX-License-Identifier: Apache-2.0
"""compared_recorders - how bench_comparison runs each recorder, and reads what it wrote.

A recorder is run with the settings that its own manual recommends for a program as a whole. Its `told` gives, for one stall, the text
of its own report: of the main thread and of the others while the stall lasted, and of all in the second before it."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import namedtuple

from recorded_program import HERE, ORDER, STALLBOX

Told = namedtuple("Told", "main others before")
Stall = namedtuple("Stall", "name begin end begin_real end_real")  # ns; the first two by CLOCK_MONOTONIC
SECOND = 1000000000


def output_of(command, seconds=120):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    return done.stdout.decode(errors="replace")


def files_size(*paths):
    return sum(os.path.getsize(os.path.join(folder, name)) for path in paths for folder, _, names in os.walk(path) for name in names)


class Recorder:
    """None at all: the program bare. `folder` is a new one for each run. What it needs is in docs/COMPARISON.md."""
    name, programs, built = "bare", [], "ten_stalls"

    def __init__(self, folder):
        self.folder = folder
        self.data = os.path.join(folder, "data")
        os.mkdir(self.data)

    def command(self, program):
        return program

    def environment(self):
        return {}

    def prepare(self):
        pass

    def attach(self, pid):
        """The program runs as `pid`."""

    def stalled(self, stall):
        """A stall is over: the hint for those who have no trigger of their own."""

    def finish(self):
        pass

    def written(self):
        return files_size(self.data)

    def read(self, pid):
        """Once, before `told`."""

    def told(self, stall):
        return Told("", "", "")

    def judged(self, stall, truth):
        """(cause, function, holder, the second before): "yes"; "there": in the records, not said to be it; "no"."""
        told = self.told(stall)
        holder = None if truth.holder is None else "there" if truth.holder in told.others else "no"
        return ("yes" if re.search(truth.shown_by, told.main) else "no", "yes" if truth.function in told.main else "no", holder,
                "yes" if "before_" + stall.name in told.before else "no")


class Stallbox(Recorder):
    name, programs = "stallbox run", [STALLBOX]
    settings = []

    def command(self, program):
        return [STALLBOX, "run", "--quiet", "--anr-ms", "0", "--slow-message-ms", "200", "--spool", self.data, "--"] + program

    def attach(self, pid):
        if self.settings:
            subprocess.run([ORDER, str(pid)] + self.settings, check=True, stdout=subprocess.DEVNULL)

    def read(self, pid):
        self.reports = []
        for payload in glob.glob(os.path.join(self.data, "**", "*.sbx"), recursive=True):
            done = subprocess.run([STALLBOX, "report", "--format", "json", payload], capture_output=True, text=True)
            report = json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else done.stderr.strip().split(": ")[-1]
            timeline = output_of([STALLBOX, "report", "--format", "perfetto", payload])
            self.reports.append((int(os.path.getmtime(payload) * SECOND), report, timeline))

    def judged(self, stall, truth):
        for written, report, timeline in self.reports: # a payload is written when its stall is over; the next stall is 2 s away
            if not stall.end_real <= written < stall.end_real + 3 * SECOND // 2:
                continue
            if isinstance(report, str):
                return (report, report, None if truth.holder is None else report, report)
            said = report["attribution"]
            holder = (said.get("culprit_thread") or {}).get("function")
            return ("yes" if said["cause"] in truth.causes else said["cause"],
                    "yes" if said["function"] == truth.function else str(said["function"]),
                    None if truth.holder is None else "yes" if holder == truth.holder else str(holder),
                    "yes" if "before_" + stall.name in timeline else "no")
        return ("no report", "no report", None if truth.holder is None else "no report", "no report")


class StallboxFull(Stallbox):
    name = "stallbox run, 1 ms, no budget"
    settings = ["interval_us=1000", "gap_us=1000", "max_cpu_permille=0"]


class Perf(Recorder):
    name, programs, graph = "perf record -F 999 --call-graph fp", ["perf"], "fp"

    def command(self, program):
        return ["perf", "record", "-q", "-F", "999", "--clockid", "mono", "--call-graph", self.graph, "-o", self.data + "/perf.data", "--"] + program

    def script(self, path):
        return output_of(["perf", "script", "--ns", "--no-inline", "-F", "tid,time,ip,sym", "-i", path], 300)

    def texts(self):
        return [self.script(self.data + "/perf.data")]

    def read(self, pid):
        self.samples, self.main = [], pid
        for block in (block for text in self.texts() for block in text.split("\n\n")):
            head = re.match(r"\s*(\d+)\s+(\d+)\.(\d+):", block)
            if head:
                self.samples.append((int(head[1]), int(head[2]) * SECOND + int(head[3]), block))

    def told(self, stall):
        def text(begin, end, is_wanted):
            return "\n".join(block for tid, at, block in self.samples if begin <= at <= end and is_wanted(tid))
        return Told(text(stall.begin, stall.end, lambda tid: tid == self.main), text(stall.begin, stall.end, lambda tid: tid != self.main),
                    text(stall.begin - SECOND, stall.begin, lambda tid: True))


class PerfDwarf(Perf):
    name, graph = "perf record -F 999 --call-graph dwarf", "dwarf"


class PerfRing(Perf):
    """perf's ring in memory, written out when a signal asks for it: perf-record(1), --overwrite and --switch-output."""
    name = "perf record --overwrite, -F 999 --call-graph fp"

    def command(self, program):
        return ["perf", "record", "-q", "-F", "999", "--clockid", "mono", "--call-graph", "fp", "--overwrite", "--switch-output=signal", "-m", "4M", "-o", self.data + "/perf.data",
                "--"] + program

    def attach(self, pid):
        with open("/proc/%d/stat" % pid) as stat:
            self.perf = int(stat.read().rsplit(")", 1)[1].split()[1]) # it has started the program

    def stalled(self, stall):
        os.kill(self.perf, signal.SIGUSR2)

    def texts(self):
        return [text for path in sorted(glob.glob(self.data + "/perf.data*")) for text in [self.script(path)]]


class Lttng(Recorder):
    channel_options = [] # the buffers as they come
    name, programs = "LTTng-UST, libc and pthread wrappers, snapshot mode", ["lttng", "lttng-sessiond", "babeltrace2"]
    session = "stallbox-bench-%d" % os.getpid()

    def environment(self):
        return {"LD_PRELOAD": "liblttng-ust-libc-wrapper.so.1:liblttng-ust-pthread-wrapper.so.1", "LTTNG_UST_REGISTER_TIMEOUT": "-1"}

    def lttng(self, *words):
        done = subprocess.run(["lttng", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError("lttng %s: %s" % (" ".join(words), (done.stdout + done.stderr).strip()))

    def prepare(self):
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        time.sleep(1.5)
        self.lttng("create", self.session, "--snapshot", "--output=" + self.data)
        for channel, events in ("calls", "lttng_ust_libc:*,lttng_ust_pthread:*"), ("images", "lttng_ust_statedump:*"):
            self.lttng("enable-channel", "--userspace", "--session=" + self.session, *self.channel_options, channel)
            self.lttng("enable-event", "--userspace", "--session=" + self.session, "--channel=" + channel, events)
            self.lttng("add-context", "--userspace", "--session=" + self.session, "--channel=" + channel, "--type=vpid", "--type=vtid", "--type=ip")
        self.lttng("start", self.session)

    def stalled(self, stall):
        self.lttng("regenerate", "statedump", "--session=" + self.session)
        self.lttng("snapshot", "record", "--session=" + self.session, "--name=" + stall.name)

    def finish(self):
        try:
            self.lttng("destroy", self.session)
        finally:
            self.daemon.terminate()
            self.daemon.wait()

    def read(self, pid):
        self.main = pid

    def told(self, stall):
        text = {"main": [], "others": [], "before": []}
        for folder in glob.glob(os.path.join(self.data, stall.name + "-*")):
            for line in output_of(["babeltrace2", "convert", "--debug-info", "--clock-seconds", folder], 300).splitlines():
                head = re.match(r"\[(\d+)\.(\d+)\]", line)
                at = int(head[1]) * SECOND + int(head[2]) if head else 0
                if stall.begin_real <= at <= stall.end_real:
                    text["main" if "vtid = %d," % self.main in line else "others"].append(line)
                elif stall.begin_real - SECOND <= at < stall.begin_real:
                    text["before"].append(line)
        return Told(*("\n".join(text[key]) for key in ("main", "others", "before")))


class LttngLarge(Lttng):
    """lttng-enable-channel(1): a snapshot has what the sub-buffers hold."""
    channel_options, name = ["--subbuf-size=4M", "--num-subbuf=8"], "LTTng-UST, the same with 8 buffers of 4 MiB"


class Uftrace(Recorder):
    name, programs, built = "uftrace record", ["uftrace"], "ten_stalls_pg"

    def command(self, program):
        return ["uftrace", "record", "--no-pager", "-d", self.data + "/uftrace.data"] + program

    def read(self, pid):
        self.main = pid

    def replay(self, *words):
        return output_of(["uftrace", *words, "--no-pager", "-d", self.data + "/uftrace.data"], 300)

    def told(self, stall):
        def during(begin, end):
            return "--time-range=%d.%09d~%d.%09d" % (begin // SECOND, begin % SECOND, end // SECOND, end % SECOND)
        whole = during(stall.begin, stall.end)
        main = self.replay("report", whole, "--tid=%d" % self.main)
        return Told(main, self.replay("report", during(stall.begin - SECOND // 100, stall.end + SECOND // 100)), self.replay("report", during(stall.begin - SECOND, stall.begin)))


class Heaptrack(Recorder):
    name, programs = "heaptrack", ["heaptrack", "heaptrack_print"]

    def command(self, program):
        return ["heaptrack", "-o", self.data + "/heaptrack"] + program

    def read(self, pid):
        found = glob.glob(self.data + "/heaptrack*")
        self.text = output_of(["heaptrack_print", found[0]], 300) if found else ""

    def told(self, stall):
        return Told(self.text, self.text, self.text)


class EuStack(Recorder):
    name, programs = "eu-stack -p, every 200 ms", ["eu-stack"]

    def attach(self, pid):
        self.ends, self.main = threading.Event(), pid
        self.thread = threading.Thread(target=self.look, args=(pid,), daemon=True)
        self.thread.start()

    def look(self, pid):
        while not self.ends.wait(0.2):
            begin = time.monotonic_ns()
            text = output_of(["eu-stack", "-p", str(pid)])
            with open(self.data + "/%d" % begin, "w") as out:
                out.write(text)

    def finish(self):
        self.ends.set()
        self.thread.join()

    def told(self, stall):
        main, others, before = "", "", ""
        for name in os.listdir(self.data):
            with open(os.path.join(self.data, name)) as file:
                text = file.read()
            if stall.begin - SECOND <= int(name) < stall.begin:
                before += text
            elif stall.begin <= int(name) <= stall.end:
                for block in text.split("TID ")[1:]:
                    if block.startswith("%d:" % self.main):
                        main += block
                    else:
                        others += block
        return Told(main, others, before)


class Bpftrace(Recorder):
    name, programs = "bpftrace, off-CPU by sched_switch, 10 ms and more", ["bpftrace"]
    SCRIPT = """BEGIN { printf("attached\\n"); }
    tracepoint:sched:sched_switch {
        if (pid == %d) { @since[tid] = nsecs; @from[tid] = ustack; }
        $since = @since[args->next_pid];
        if ($since) {
            if (nsecs - $since > 10000000) { printf("BLOCK %%d %%llu %%llu\\n%%s\\n", args->next_pid, $since, nsecs, @from[args->next_pid]); }
            delete(@since[args->next_pid]); delete(@from[args->next_pid]);
        } }"""

    def attach(self, pid):
        self.main = pid
        self.out, self.errors = self.data + "/off-cpu", self.folder + "/errors"
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(["bpftrace", "-q", "-o", self.out, "-e", self.SCRIPT % pid], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=errors)
        while self.process.poll() is None and not (os.path.exists(self.out) and os.path.getsize(self.out)):
            time.sleep(0.05)

    def finish(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        if self.process.wait() != 0:
            with open(self.errors) as errors:
                raise OSError("bpftrace: " + errors.read().strip())

    def read(self, pid):
        with open(self.out, errors="replace") as file:
            text = file.read()
        self.blocks = []
        for block in text.split("BLOCK ")[1:]:
            tid, begin, end = (int(word) for word in block.split("\n", 1)[0].split())
            self.blocks.append((tid, begin, end, block))

    def told(self, stall):
        def text(begin, end, is_wanted):
            return "\n".join(block for tid, since, until, block in self.blocks if until > begin and since < end and is_wanted(tid))
        slack = SECOND // 100
        return Told(text(stall.begin + slack, stall.end - slack, lambda tid: tid == self.main),
                    text(stall.begin + slack, stall.end - slack, lambda tid: tid != self.main), text(stall.begin - SECOND, stall.begin, lambda tid: True))


RECORDERS = [Stallbox, StallboxFull, Perf, PerfDwarf, PerfRing, Lttng, LttngLarge, Uftrace, Heaptrack, EuStack, Bpftrace]


def missing(recorder):
    """Which programs it lacks here."""
    return [program for program in recorder.programs if not shutil.which(program)]


def program_command(recorder, words):
    return [os.path.join(HERE, recorder.built)] + words
