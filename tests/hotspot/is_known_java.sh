#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# is_known_java.sh - is this a Java whose stacks we walk?
#
# usage: is_known_java.sh JAVA
# JAVA: the program, or the number of a version that this machine does not have.
set -euo pipefail
[ -x "$1" ] || { echo "skipped: no JDK $1"; exit 1; }
version=$("$1" -XshowSettings:properties -version 2>&1 | sed -n 's/ *java.specification.version = //p')
[[ "$version" =~ ^(17|25)$ ]] || { echo "hotspot: Java $version is not known to the walk"; exit 1; }
