#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# header_alone.sh - the public header compiles by itself in every language it promises.
#
# usage: header_alone.sh HEADER
set -euo pipefail
for standard in c99 c11 c17; do
    cc -x c -std=$standard -Wall -Wextra -pedantic -Werror -fsyntax-only "$1"
done
for standard in c++11 c++17 c++20; do
    c++ -x c++ -std=$standard -Wall -Wextra -pedantic -Werror -fsyntax-only "$1"
done
echo "header_alone: six standards"
