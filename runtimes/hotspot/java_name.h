/* SPDX-License-Identifier: Apache-2.0 */
/* java_name.h - a method's readable name, and the id that replaces it where no name may be stored.
 *
 *     function    pkg.Class.method            from pkg/Class and method in the class's constant pool
 *     file        Class.java                  as the compiler noted it
 *     id          FNV-1a of "Class.java:LINE:pkg.Class.method", LINE that of the method's first bytecode: stallbox_function_id()
 *
 * The JVM numbers the classes that it generates, and puts an address into the names of some. These parts differ from
 * run to run and are left out: App$$Lambda$14/0x800c03000 becomes App$$Lambda, and jdk.proxy1.$Proxy7 becomes
 * jdk.proxy1.$Proxy. */
#ifndef SBX_JAVA_NAME_H
#define SBX_JAVA_NAME_H

#include <stddef.h>

#include "method.h"

enum {
    SBX_JAVA_FUNCTION_BYTES = 200, /* a longer name is cut; the id is that of the whole name */
    SBX_JAVA_FILE_BYTES = 96,
};

struct sbx_java_name {
    uint64_t id;
    uint32_t line; /* of the definition; 0: none */
    uint32_t function_bytes, file_bytes;
    char function[SBX_JAVA_FUNCTION_BYTES]; /* UTF-8, not terminated */
    char file[SBX_JAVA_FILE_BYTES];
};

/* Makes the name. Takes some microseconds; done when a method is met for the first time. */
SBX_SIGNAL_SAFE void sbx_java_name_make(struct sbx_java_name *name_out, const struct sbx_method *method,
                                        const struct sbx_vm_layout *layout);

/* ---- text in Java's modified UTF-8 ---- */

/* Output of text: all of it goes into the hash, and whole characters go into `to` while there is room. */
struct sbx_java_text {
    uint64_t hash;
    char *to;
    uint32_t bytes, max;
    bool is_full;
};

/* Append a name as UTF-8, with control characters as '?'. `is_class`: slashes become dots, and parts that differ from
 * run to run are left out. */
SBX_SIGNAL_SAFE void sbx_java_text_append(struct sbx_java_text *text, struct sbx_vm_bytes name, bool is_class);

#endif
