# SPDX-License-Identifier: Apache-2.0
"""installed_tests.py - GNOME's way of shipping tests: files *.test that name a program, most of which print TAP."""
import configparser
import pathlib
import shlex

import verdicts
from job import Job


def jobs(*folders, time_out):
    made = []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.test")):
            described = configparser.ConfigParser(interpolation=None, strict=False)
            described.read(path, encoding="utf-8")
            name = path.stem if folder == folders[0] else f"{pathlib.Path(folder).name}/{path.stem}"
            argv = shlex.split(described["Test"]["Exec"])
            read = verdicts.of_tap(name)
            if argv[-1] != "--tap" and described["Test"].get("Output") != "TAP":
                read = verdicts.of_status(name)
            elif len(argv) == 1:
                argv.append("--tap")
            # What wants a session's bus finds one, as gnome-desktop-testing-runner gives it.
            made.append(Job(name, ["dbus-run-session", "--", *argv], read, time_out=time_out,
                            env={"XDG_RUNTIME_DIR": "{folder}/tmp", "XDG_DATA_HOME": "{folder}/home/share"}))
    return made
