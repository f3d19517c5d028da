# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# python_path.bash - python3 is the interpreter itself, and not a shim of pyenv's that leads to it.
#
# Sourced by build and test. A shim is a shell that starts others until it knows the version, at each start anew: 0.19 s of CPU time where the interpreter
# takes 0.02, and tests start it some hundred times.
if [[ $(command -v python3) == */shims/python3 ]]; then
    python_folder=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null) || python_folder=
    PATH=${python_folder:+$python_folder:}$PATH
    unset python_folder
fi
