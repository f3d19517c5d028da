#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# agent_side_libraries.sh ROOT - one file knows libcurl, two know protobuf-c, one knows zstd, two know mbedTLS.
#
# So that a library can be changed in one place, and what talks to the network can be read in one sitting.
set -eu

cd "$1"
failed=0

# expect LIBRARY PATTERN FILE...: exactly these files of the agent side include it.
expect() {
    library=$1
    pattern=$2
    shift 2
    wanted=$(printf '%s\n' "$@" | LC_ALL=C sort)
    found=$(grep -rlE "#include [<\"]$pattern" --include='*.[ch]' agent capture policy uploader | LC_ALL=C sort)
    if [ "$wanted" != "$found" ]; then
        printf '%s is included by:\n%s\nbut only this may:\n%s\n' "$library" "$found" "$wanted" >&2
        failed=1
    fi
}

expect libcurl 'curl/' uploader/delivery/http_exchange.c
expect protobuf-c '(protobuf-c/|.*\.pb-c\.h)' uploader/payload/payload_encode.c uploader/payload/show_payload.c
expect zstd 'zstd' uploader/seal/envelope.c
expect mbedTLS 'mbedtls/' policy/signature.c uploader/seal/hpke_sender.c
exit $failed
