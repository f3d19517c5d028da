#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms.py ROOT TABLE BUILD - no file reaches into a room above its own, and no files go round in a circle.

The files of the rooms that TABLE names are the nodes. A file has an arrow to each header it includes, and a source has one to
each source whose functions or data it uses: the symbols of the objects in BUILD tell, those that its
compile_commands.json lists. The program fails on

  an arrow   to a room that the table does not allow the file's own room,
  a header   that declares a function which only a room above it defines (the library's public headers may: they are its face),
  a circle   of files, unless the table lists these files as one that is still to be opened,
  a table    that goes round in a circle itself, that lists a circle which is open by now, or that leaves out a folder.

The compiler finds most wrong includes, because a room's target sees the folders of what it links. It does not see who calls
whom, and it obeys whoever adds a folder to an include path.
"""

import json
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
DECLARES = re.compile(r"^(?!static|typedef|#)[A-Za-z_][\w \t*]*?\b(\w+)\(", re.M)  # a prototype begins its line
PUBLIC = "agent/include/stallbox"


class Table:
    """The rooms, what each may see, and the circles that are still to be opened."""

    def __init__(self, path):
        self.may_see = {}
        circles, last = [], None  # what a line that begins with a blank goes on with
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if line[0].isspace() and last is not None:
                last += words
            elif words[0] == "circle":
                last = words[1:]
                circles.append(last)
            elif words[0].endswith(":"):
                last = self.may_see[words[0][:-1]] = words[1:]
            else:
                sys.exit(f"{path}:{number}: neither 'ROOM: ROOM...' nor 'circle FILE...'")
        self.circles = [set(circle) for circle in circles]  # of rooms or of files

    def wrongs(self):
        for room, seen in self.may_see.items():
            for other in seen:
                if other not in self.may_see:
                    yield f"the table lets {room} see {other}, which is no room of it"


def files_of(root, rooms):
    """Sources and headers below the rooms' topmost folders, as paths from the root."""
    found = []
    for top in sorted({room.split("/")[0] for room in rooms}):
        for folder, _, names in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith((".c", ".h"))]
    return sorted(found)


def add_includes(root, files, table, arrows, wrongs):
    homes = {}
    for path in files:
        if path.endswith(".h"):
            homes.setdefault(os.path.basename(path), []).append(path)
    for path in files:
        room = os.path.dirname(path)
        for name in INCLUDE.findall(open(os.path.join(root, path), encoding="utf-8").read()):
            homes_of_name = homes.get(os.path.basename(name), [])
            own = [h for h in homes_of_name if os.path.dirname(h) == room]
            seen = own or [h for h in homes_of_name if os.path.dirname(h) in table.may_see.get(room, [])]
            if len(seen) > 1:
                wrongs.append(f"{path} includes {name}, and may see two of that name: {' '.join(seen)}")
            for header in seen or homes_of_name:
                arrows[path].setdefault(header, "includes it")


def objects_of(root, build, files):
    """Object to source, for the objects that were built of these files."""
    known = set(files)
    objects = {}
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        output = re.search(r" -o (\S+)", entry["command"])
        if source in known and output is not None:
            path = os.path.normpath(os.path.join(entry["directory"], output.group(1)))
            if os.path.exists(path):
                objects[path] = source
    return objects


def add_uses(objects, arrows):
    lines = []
    if objects:
        command = [os.environ.get("NM", "nm"), "-A", "-P", *objects]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    owners, uses = {}, []
    for line in lines:
        path, symbol, kind = re.match(r"(.+?): (\S+) (\S)", line).groups()
        if kind in "Uvw":
            uses.append((objects[path], symbol))
        elif kind.isupper():
            owners.setdefault(symbol, set()).add(objects[path])
    for source, symbol in uses:
        for owner in owners.get(symbol, ()):
            if owner != source:
                arrows[source].setdefault(owner, f"uses {symbol}")
    return owners


def declared_too_low(root, files, owners, table):
    """Headers that declare what only rooms above them define: who looks for the function finds it in the wrong room."""
    for path in files:
        room = os.path.dirname(path)
        if not path.endswith(".h") or room == PUBLIC:
            continue
        for symbol in DECLARES.findall(open(os.path.join(root, path), encoding="utf-8").read()):
            homes = {os.path.dirname(owner) for owner in owners.get(symbol, ())}
            if homes and room not in homes and not homes & set(table.may_see.get(room, [])):
                yield f"{path} declares {symbol}, which {min(homes)} defines: declare it there"


def circles_in(arrows):
    """The strongly connected parts of more than one node (Tarjan's way, without recursion)."""
    index, low, stack, on_stack, parts = {}, {}, [], set(), []
    for first in arrows:
        work = [] if first in index else [(first, iter(arrows.get(first, ())))]
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for other in rest:
                if other not in index:
                    work.append((other, iter(arrows.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        part.add(stack.pop())
                        on_stack -= part
                    if len(part) > 1:
                        parts.append(part)
    return parts


def judge_circles(parts, arrows, listed, what):
    """What is wrong with these circles, given those that are listed as still to be opened."""
    for part in parts:
        if not any(part <= circle for circle in listed):
            yield f"{len(part)} {what} go round in a circle:"
            for node in sorted(part):
                yield from (f"    {node} -> {o}: {why}" for o, why in sorted(arrows[node].items()) if o in part)
    for circle in listed:
        open_by_now = circle - set().union(*parts)
        if open_by_now:
            yield f"in no circle any more, so the table must not list them: {' '.join(sorted(open_by_now))}"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, table, build = sys.argv[1], Table(sys.argv[2]), sys.argv[3]
    wrongs = list(table.wrongs())
    files = files_of(root, table.may_see)
    arrows = {path: {} for path in files}
    add_includes(root, files, table, arrows, wrongs)
    objects = objects_of(root, build, files)
    owners = add_uses(objects, arrows)
    wrongs += declared_too_low(root, files, owners, table)

    for folder in sorted({os.path.dirname(path) for path in files} - set(table.may_see)):
        wrongs.append(f"{folder} is no room of the table")
    for path in files:
        room = os.path.dirname(path)
        for other, why in sorted(arrows[path].items()):
            above = os.path.dirname(other)
            if above != room and above not in table.may_see.get(room, []):
                wrongs.append(f"{path} -> {other}: {why}, which {room} may not see")

    allowed = {room: {other: "may see it" for other in seen} for room, seen in table.may_see.items()}
    of_rooms = [circle for circle in table.circles if circle <= set(table.may_see)]
    of_files = [circle for circle in table.circles if circle not in of_rooms]
    wrongs += judge_circles(circles_in(allowed), allowed, of_rooms, "rooms of the table")
    wrongs += judge_circles(circles_in(arrows), arrows, of_files, "files")

    built = len(set(objects.values()))
    sources = sum(path.endswith(".c") for path in files)
    if built < sources * 3 // 4:  # some are for another processor
        wrongs.append(f"only {built} of {sources} sources are built in {build}: build it first")
    for wrong in wrongs:
        print(f"rooms: {wrong}", file=sys.stderr)
    if wrongs:
        return 1
    print(f"rooms: {len(files)} files and {built} objects in {len(table.may_see)} rooms, every arrow goes down")
    return 0


if __name__ == "__main__":
    sys.exit(main())
