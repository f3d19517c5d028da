/* SPDX-License-Identifier: Apache-2.0 */
/* class_mapping.h - the mapping that an obfuscator wrote (ProGuard, R8: mapping.txt): the original names of classes and
 * methods.
 *
 *     com.shop.Pay -> a.b:
 *     # {"id":"sourceFile","fileName":"Pay.kt"}
 *         1:3:void run(int):42:44 -> a
 *         4:4:int com.shop.Tax.of(int):7:7 -> a      inlined into ...
 *         4:4:void run(int):45 -> a                  ... this method
 *
 * If methods are inlined, the outermost is used, with the line of its call. Mappings are untrusted; invalid lines are
 * skipped. */
#ifndef SBX_CLASS_MAPPING_H
#define SBX_CLASS_MAPPING_H

#include <stdbool.h>

#include "name_list.h"

struct sbx_mapped_method {
    struct sbx_name_text short_name, name; /* in the class file; the original, with its class if that is another */
    uint32_t from, to;                     /* lines in the class file; 0: all lines */
    uint32_t written_from, written_to;     /* original lines; 0: not known */
};

struct sbx_mapped_class {
    struct sbx_name_text short_name, name, file; /* with dots; file "": not known */
    uint32_t first, count;                       /* its methods in `methods` */
};

struct sbx_class_mapping {
    struct sbx_mapped_class *classes; /* owned, sorted by short name */
    uint32_t class_count;
    struct sbx_mapped_method *methods; /* owned, in the order of the file; only the outermost of inlined methods */
    uint32_t method_count;
};

/* Read a mapping, which must outlive the result. Returns 0, -E2BIG or -ENOMEM. */
int sbx_class_mapping_read(struct sbx_class_mapping *mapping_out, struct sbx_name_text text);
void sbx_class_mapping_finish(struct sbx_class_mapping *mapping);

/* The class whose name in the class file is `short_name`; NULL: the class kept its name. */
const struct sbx_mapped_class *sbx_class_mapping_find(const struct sbx_class_mapping *mapping,
                                                      struct sbx_name_text short_name);

/* The method of `class` with that name in the class file, and with that line (0: not known); NULL: none. */
const struct sbx_mapped_method *sbx_class_mapping_method(const struct sbx_class_mapping *mapping,
                                                         const struct sbx_mapped_class *class,
                                                         struct sbx_name_text short_name, uint32_t line);

#endif
