/* SPDX-License-Identifier: Apache-2.0 */
/* java_name.h - what people call a method, and the id that stands for it where no name may go.
 *
 *     function    pkg.Class.method            of pkg/Class and method in the class's constant pool
 *     file        Class.java                  as the compiler noted it
 *     id          FNV-1a of "Class.java:LINE:pkg.Class.method", LINE that of the method's first bytecode: stallbox_function_id()
 *
 * The machine numbers the classes that it makes itself, and gives some an address for a name. These parts differ from run to run and are left
 * out: App$$Lambda$14/0x800c03000 is App$$Lambda, jdk.proxy1.$Proxy7 is jdk.proxy1.$Proxy. */
#ifndef SBX_JAVA_NAME_H
#define SBX_JAVA_NAME_H

#include <stddef.h>

#include "method.h"

enum {
    SBX_JAVA_FUNCTION_BYTES = 200, /* of longer ones the end is cut; the id is that of the whole */
    SBX_JAVA_FILE_BYTES = 96,
};

struct sbx_java_name {
    uint64_t id;
    uint32_t line; /* of the definition; 0: none */
    uint32_t function_bytes, file_bytes;
    char function[SBX_JAVA_FUNCTION_BYTES]; /* UTF-8, not ended */
    char file[SBX_JAVA_FILE_BYTES];
};

/* Make it. Some microseconds: for the first sight of a method. */
SBX_SIGNAL_SAFE void sbx_java_name_make(struct sbx_java_name *name_out, const struct sbx_method *method,
                                        const struct sbx_vm_layout *layout);

/* ---- text of Java's own UTF-8 ---- */

/* Where text goes: all of it into the hash, what has room into `to`, whole characters only. */
struct sbx_java_text {
    uint64_t hash;
    char *to;
    uint32_t bytes, max;
    bool is_full;
};

/* Append a name: as UTF-8, control characters as '?'. `is_class`: slashes as dots, and without what differs from run to run. */
SBX_SIGNAL_SAFE void sbx_java_text_append(struct sbx_java_text *text, struct sbx_vm_bytes name, bool is_class);

#endif
