/* SPDX-License-Identifier: Apache-2.0 */
/* class_mapping.h - what an obfuscator wrote down (ProGuard, R8: mapping.txt): classes and methods by the names that people gave them.
 *
 *     com.shop.Pay -> a.b:
 *     # {"id":"sourceFile","fileName":"Pay.kt"}
 *         1:3:void run(int):42:44 -> a
 *         4:4:int com.shop.Tax.of(int):7:7 -> a      inlined into ...
 *         4:4:void run(int):45 -> a                  ... what stands behind it
 *
 * Of inlined methods the outermost is named, with the line of its call. Mappings are untrusted; invalid lines are skipped. */
#ifndef SBX_CLASS_MAPPING_H
#define SBX_CLASS_MAPPING_H

#include <stdbool.h>

#include "name_list.h"

struct sbx_mapped_method {
    struct sbx_name_text short_name,
        name;                          /* in the class file; as it was written, with its class where that is another */
    uint32_t from, to;                 /* lines of the class file; 0: all */
    uint32_t written_from, written_to; /* 0: not told */
};

struct sbx_mapped_class {
    struct sbx_name_text short_name, name, file; /* with dots; file "": not told */
    uint32_t first, count;                       /* of its methods */
};

struct sbx_class_mapping {
    struct sbx_mapped_class *classes; /* owned, by short name */
    uint32_t class_count;
    struct sbx_mapped_method
        *methods; /* owned, in the order of the file; of those inlined into each other only the outermost */
    uint32_t method_count;
};

/* Read a mapping, which must outlive the result. Returns 0, -E2BIG or -ENOMEM. */
int sbx_class_mapping_read(struct sbx_class_mapping *mapping_out, struct sbx_name_text text);
void sbx_class_mapping_finish(struct sbx_class_mapping *mapping);

/* The class that the class file calls `short_name`; NULL: it kept its name. */
const struct sbx_mapped_class *sbx_class_mapping_find(const struct sbx_class_mapping *mapping,
                                                      struct sbx_name_text short_name);

/* Its method of that name with a line (0: not known); NULL: none. */
const struct sbx_mapped_method *sbx_class_mapping_method(const struct sbx_class_mapping *mapping,
                                                         const struct sbx_mapped_class *class,
                                                         struct sbx_name_text short_name, uint32_t line);

#endif
