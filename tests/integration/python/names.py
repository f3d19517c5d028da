# SPDX-License-Identifier: Apache-2.0
"""names.py STALLBOX FOLDER... - are the names made from sources those that this interpreter gives?

Compiles every file of each folder, and asks for each code object (functions, classes, lambdas, comprehensions, generators) whether
`stallbox symbols names` made the same id, file, line and name of the source alone.
"""
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings

warnings.simplefilter("ignore")
# What 3.12 on makes of annotations and type parameters is no function that runs for long.
HIDDEN = ("<generic parameters of", "<annotate", "__annotate__")  # `type X = ...` is not told either


def function_id(text):
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value or 1


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def cut(name):
    return name.encode()[:192].decode(errors="ignore")


def main():
    stallbox, folders = sys.argv[1], [os.path.realpath(folder) for folder in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([stallbox, "symbols", "names", "-o", out] + folders, check=True, stdout=subprocess.DEVNULL)
        with open(out + "/provider-python.map", encoding="utf-8", errors="replace") as lines:
            told = {line.split("\t")[0]: line.rstrip("\n").split("\t")[1:] for line in lines}
    asked = missing = files = 0
    for folder in folders:
        for where, below, names in os.walk(folder):
            below[:] = [name for name in below if name != "site-packages"]  # an entry of sys.path by itself
            for name in sorted(names):
                path = os.path.join(where, name)
                if not name.endswith(".py"):
                    continue
                try:
                    with open(path, "rb") as source:
                        whole = compile(source.read(), path, "exec", dont_inherit=True)
                except (SyntaxError, ValueError, RecursionError):
                    continue
                files += 1
                file = re.sub("^.*/(?=python3[.][0-9]+/)", "", path)  # of the standard library
                if file == path:
                    file = path[len(folder) + 1 :]
                for code in codes(whole):
                    title = getattr(code, "co_qualname", code.co_name)
                    if any(hidden in title for hidden in HIDDEN):
                        continue
                    asked += 1
                    key = "%016x" % function_id("%s:%d:%s" % (file, code.co_firstlineno, cut(title)))
                    if key not in told or told[key][0] != str(code.co_firstlineno) or told[key][1] != file:
                        missing += 1
                        if missing <= 20:
                            print("missing: %s:%d %s %s" % (file, code.co_firstlineno, title, told.get(key)))
    print("%d.%d: %d files, %d functions, %d missing" % (sys.version_info[:2] + (files, asked, missing)))
    return 1 if missing or not asked else 0


sys.exit(main())
