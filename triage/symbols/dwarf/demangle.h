/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - linkage names to names as in the source code. */
#ifndef SBX_DEMANGLE_H
#define SBX_DEMANGLE_H

#include <stddef.h>

enum {
    SBX_NAME_BYTES_MAX = 4096
}; /* of a name before and after demangling, with the NUL */

/* Write `name` demangled (C++ of the Itanium ABI, without the return type; Rust) into `out`. A name that is not
 * mangled, or whose text would be far too long, is copied. A name longer than `out` is cut and ends in "...". Any bytes
 * are allowed as a name; time and memory are bounded. */
void sbx_demangle(const char *name, char *out, size_t out_bytes);

#endif
