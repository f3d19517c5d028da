/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - linkage names to what a programmer wrote. */
#ifndef SBX_DEMANGLE_H
#define SBX_DEMANGLE_H

#include <stddef.h>

enum {
    SBX_NAME_BYTES_MAX = 4096
}; /* of a name before and after demangling, with its NUL */

/* `name` demangled (C++ of the Itanium ABI, without the type it returns; Rust) into `out`, or copied when it is not mangled, too long or too wild.
 * A name longer than `out` is cut and ends in "...". Any bytes are fine as a name; time and memory are bounded. */
void sbx_demangle(const char *name, char *out, size_t out_bytes);

#endif
