# SPDX-License-Identifier: Apache-2.0
"""Programs that no other suite has, each with a small job that ends by itself: runtimes, allocators, interposers, tracers, shells, tools.

The jobs are pieces of shell script in hosts/*.txt. One case each: how it ends, what it prints, what files it makes, which processes it leaves."""
import hashlib
import os
import pathlib
import re
import shutil

from job import Job

OF = "bash"
PACKAGES = ("bash", "python3", "gcc")
PLACES = pathlib.Path(__file__).parents[1] / "hosts"
FILES = ("interposers", "runtimes", "programs", "shells")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
WASHES = ((r"(?m)^stallbox run: .*\n", ""), (r"/tmp/b\.\w+", "FOLDER"), (r"\b(0x)?[0-9a-f]{8,16}\b", "HEX"), (r"\b\d{4,7}\b", "N"), (r"\d\d:\d\d:\d\d", "T"), (r"\d+\.\d+", "T"))


def sections(path):
    """"#: NAME: PROGRAM-OR-FILE... [seconds=N]" begins a job; what follows is its script."""
    for text in re.split(r"(?m)^#: ", path.read_text(encoding="utf-8"))[1:]:
        head, script = text.split("\n", 1)
        name, needs = head.split(":", 1)
        yield name.strip(), needs.split(), script


def is_here(need):
    return os.path.exists(need) if need.startswith("/") else shutil.which(need, path=PATH) is not None


def verdict(name):
    """Numbers that are pids, addresses or times are washed out; a job whose numbers matter prints "right" or "wrong" itself."""
    def read(result):
        text = result.output
        for pattern, word in WASHES:
            text = re.sub(pattern, word, text)
        files = sorted(str(path.relative_to(result.folder)) for path in (result.folder / "cwd").rglob("*"))
        said = hashlib.sha256("\n".join([text.strip(), *files]).encode()).hexdigest()[:8]
        return {name: f"{result.ended()}, prints {said}" + (f", leaves {' '.join(result.left)}" if result.left else "")}
    return read


def jobs_of(files):
    made = []
    for file in files:
        for name, needs, script in sections(PLACES / f"{file}.txt"):
            seconds = next((int(need[8:]) for need in needs if need.startswith("seconds=")), 60)
            missing = [need for need in needs if not need.startswith("seconds=") and not is_here(need)]
            if missing:
                print(f"{name}: left out, not here: {' '.join(missing)}", flush=True)
                continue
            made.append(Job(name, ["bash", "-c", "HOSTS=" + str(PLACES) + "\n" + script], verdict(name), time_out=seconds, env={"PATH": PATH}))
    return made


def jobs(place):
    return jobs_of(FILES)
