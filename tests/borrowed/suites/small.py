# SPDX-License-Identifier: Apache-2.0
"""Small programs of our own for what no suite asks often enough: cancellation, exceptions, children, plugins, tracers, leaks."""
import pathlib
import re

import verdicts
from job import Job

OF = "gcc"
PACKAGES = ("gcc", "g++", "libc6-dev")
PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"
CI = ("*",)


def build(place):
    place.sh(f"""cd '{PROGRAMS}'; out='{place.folder}'
             for program in cancel exceptions plugins; do g++ -std=c++17 -O2 -Wall -Wextra -o "$out/$program" "$program.cc" -pthread -ldl -lrt; done
             g++ -std=c++17 -O2 -Wall -Wextra -shared -fPIC -o "$out/plugin.so" plugin.cc
             for program in children traced; do gcc -std=gnu17 -O2 -Wall -Wextra -o "$out/$program" "$program.c" -pthread; done
             gcc -std=gnu17 -O1 -g -fsanitize=leak -o "$out/leaks_lsan" leaks.c -pthread
             gcc -std=gnu17 -O1 -g -fsanitize=address -static-libasan -o "$out/leaks_asan" leaks.c -pthread""", place.folder)


def leaks(name):
    """What was found, in bytes and blocks, and how the program ended."""
    def read(result):
        found = re.search(r"SUMMARY: \w+: (.*)", result.output)
        return {name: f"{result.ended()}, {found[1] if found else 'no leak'}"}
    return read


def jobs(place):
    made = [Job(name, [place.folder / name, *arguments], verdicts.of_tap(name), time_out=180) for name, arguments in
            (("cancel", ()), ("exceptions", ()), ("children", ()), ("plugins", (place.folder / "plugin.so",)), ("traced", ()))]
    for program in ("leaks_lsan", "leaks_asan"):
        for argument in ((), ("leak",)):
            name = " ".join((program, *argument))
            made.append(Job(name, [place.folder / program, *argument], leaks(name)))
    return made
