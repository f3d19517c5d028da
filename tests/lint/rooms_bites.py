#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms_bites.py - rooms.py finds each thing it is there to find, in trees that are made up for it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

RULE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rooms.py")
TABLE = "low:\nhigh:\n    low\n"
# low/stone <- low/wall <- high/roof, by includes and by calls.
TREE = {
    "low/stone.h": "int stone(void);\n",
    "low/stone.c": '#include "stone.h"\nint stone(void) { return 1; }\n',
    "low/wall.h": '#include "stone.h"\nint wall(void);\n',
    "low/wall.c": '#include "wall.h"\nint wall(void) { return stone(); }\n',
    "high/roof.h": "int roof(void);\n",
    "high/roof.c": '#include "roof.h"\n#include "wall.h"\nint roof(void) { return wall(); }\n',
}


def judge(changes=(), table=TABLE, compiles=True):
    """Exit status and words of rooms.py on TREE with these changes."""
    with tempfile.TemporaryDirectory() as root:
        commands = []
        for path, text in (TREE | dict(changes)).items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
            if path.endswith(".c"):
                command = f"{os.environ.get('CC', 'cc')} -Ilow -Ihigh -Iattic -o {path}.o -c {path}"
                commands.append({"directory": root, "file": os.path.join(root, path), "command": command})
        for entry in commands if compiles else ():
            subprocess.run(entry["command"].split(), cwd=root, check=True)
        for name, text in (("compile_commands.json", json.dumps(commands)), ("rooms.txt", table)):
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, RULE, root, os.path.join(root, "rooms.txt"), root],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class Bites(unittest.TestCase):
    def expect(self, words, *arguments, **named):
        status, said = judge(*arguments, **named)
        self.assertEqual(status, 1, said)
        self.assertIn(words, said)

    def test_a_tree_whose_arrows_go_down_passes(self):
        self.assertEqual(judge()[0], 0, judge()[1])

    def test_an_include_of_a_higher_room_is_found(self):
        self.expect("low/wall.h -> high/roof.h: includes it, which low may not see",
                    {"low/wall.h": '#include "stone.h"\n#include "roof.h"\nint wall(void);\n'})

    def test_a_call_into_a_higher_room_is_found_without_an_include(self):
        self.expect("low/stone.c -> high/roof.c: uses roof, which low may not see",
                    {"low/stone.c": '#include "stone.h"\nint roof(void);\nint stone(void) { return roof(); }\n'})

    def test_data_of_a_higher_room_is_found(self):
        self.expect("uses height, which low may not see",
                    {"high/roof.c": '#include "roof.h"\nint height = 3;\nint roof(void) { return height; }\n',
                     "low/stone.c": '#include "stone.h"\nextern int height;\nint stone(void) { return height; }\n'})

    def test_a_header_that_declares_what_a_higher_room_defines_is_found(self):
        self.expect("low/wall.h declares roof, which high defines", {"low/wall.h": "int wall(void);\nint roof(void);\n"})

    CALLS_BACK = {"low/stone.c": '#include "stone.h"\n#include "wall.h"\nint stone(void) { return wall(); }\n'}

    def test_two_files_of_one_room_that_call_one_another_are_found(self):
        self.expect("2 files go round in a circle", self.CALLS_BACK)

    def test_headers_that_include_one_another_are_found(self):
        self.expect("2 files go round in a circle", {"low/stone.h": '#pragma once\n#include "wall.h"\nint stone(void);\n'})

    def test_a_circle_that_is_listed_may_stand(self):
        status, said = judge(self.CALLS_BACK, TABLE + "circle low/stone.c\n    low/wall.c\n")
        self.assertEqual(status, 0, said)

    def test_a_listed_circle_may_not_grow(self):
        self.expect("3 files go round", self.CALLS_BACK | {
            "low/stone.c": '#include "wall.h"\nint brick(void);\nint stone(void) { return wall() + brick(); }\n',
            "low/brick.c": '#include "wall.h"\nint brick(void) { return wall(); }\n',
        }, TABLE + "circle low/stone.c low/wall.c\n")

    def test_a_listed_circle_that_is_open_must_go_from_the_list(self):
        self.expect("in no circle any more", {}, TABLE + "circle low/stone.c low/wall.c\n")

    def test_a_folder_that_is_no_room_is_found(self):
        self.expect("high/attic is no room of the table", {"high/attic/box.c": "int box(void) { return 0; }\n"})

    def test_rooms_that_may_see_one_another_are_found(self):
        self.expect("2 rooms of the table go round in a circle", {}, "low: high\nhigh: low\n")

    def test_a_room_that_is_not_there_is_found(self):
        self.expect("which is no room of it", {}, TABLE + "    cellar\n")

    def test_two_headers_of_one_name_in_sight_are_found(self):
        self.expect("may see two of that name", {"attic/wall.h": "int wall(void);\n"},
                    "low:\nattic:\nhigh: low attic\n")

    def test_a_tree_that_is_not_built_is_no_proof(self):
        self.expect("build it first", compiles=False)


if __name__ == "__main__":
    unittest.main()
