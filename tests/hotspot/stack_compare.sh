#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stack_compare.sh - Java's stacks by our walk and by the machine's own, in a JVM that runs as the options say.
#
# usage: stack_compare.sh JAVA CLASSES LIBRARY OPTION...
set -euo pipefail
java=$1 classes=$2 library=$3
shift 3
"$(dirname "${BASH_SOURCE[0]}")/is_known_java.sh" "$java" || exit 77
exec "$java" -Xshare:auto "$@" -cp "$classes" StackCompare "$library" "${STALLBOX_JAVA_TURNS:-3000}"
