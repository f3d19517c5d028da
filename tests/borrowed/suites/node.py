# SPDX-License-Identifier: Apache-2.0
"""node's parallel and sequential tests, by Debian's node: where the machine has another, Debian's is unpacked beside them."""
import re

import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("dpkg-dev", "node-acorn", "node-cjs-module-lexer", "node-undici")  # node keeps these outside of itself
NODE_LIBRARIES = "usr/lib/x86_64-linux-gnu"
# They want the tree that node was built in, or a minute of two processors each.
LEFT_OUT = re.compile(r"test-(tick-processor|v8-serialize-leak|gc-|heapdump|crypto-dh-leak|release-npm|node-output|benchmark|npm-|corepack)")
CI = ("test-child-process-*", "test-worker-message*", "test-net-connect*", "test-signal*", "test-timers-*")


def build(place):
    place.source("nodejs")
    for package in ("nodejs", "libnode108", "libuv1", "libc-ares2", "libnghttp2-14"):
        place.archive.unpack(package, place.folder / "node")


def jobs(place):
    source = place.source("nodejs")
    node = place.folder / "node/usr/bin/node"
    made = []
    for folder in ("parallel", "sequential"):
        for path in sorted((source / "test" / folder).glob("test-*.*js")):
            if path.suffix not in (".js", ".mjs") or LEFT_OUT.match(path.name):
                continue
            flags = re.search(r"^// Flags: (.*)$", path.read_text(errors="replace"), re.MULTILINE)
            name = path.stem if folder == "parallel" else f"sequential/{path.stem}"
            env = {"NODE_TEST_DIR": "{folder}/tmp", "LD_LIBRARY_PATH": str(place.folder / "node" / NODE_LIBRARIES), "NODE_SKIP_FLAG_CHECK": "1"}
            made.append(Job(name, [node, *(flags[1].split() if flags else ()), path], verdict(name), cwd=str(source), env=env, time_out=90))
    return made


def verdict(name):
    by_status = verdicts.of_status(name)

    def read(result):
        return {name: "skip"} if re.search(r"^1\.\.0 # Skipped", result.output, re.MULTILINE) else by_status(result)
    return read
