/* SPDX-License-Identifier: Apache-2.0 */
/* address_classes.h - random addresses of a program's code, of a given class. */
#ifndef ADDRESS_CLASSES_H
#define ADDRESS_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "elf_symbols.h"

enum address_class {
    ADDRESS_ANYWHERE,
    ADDRESS_ENTRY,     /* the first bytes of functions */
    ADDRESS_LAST_BYTE, /* their last bytes */
    ADDRESS_RETURN,    /* after calls, like return addresses on stacks */
    ADDRESS_BEFORE_IT, /* one byte less: within the call */
    ADDRESS_INLINED,   /* the begin of code from an inlined call, by our table */
    ADDRESS_COLD,      /* in parts that a compiler moved away (.cold) */
    ADDRESS_PADDING,   /* between two functions */
    ADDRESS_CLASSES
};
extern const char *const address_class_names[ADDRESS_CLASSES];

struct text_section {
    uint64_t begin, bytes;
};

struct address_source {
    const struct text_section *sections;
    size_t section_count;
    const struct sbx_elf_symbols *tables; /* of the file, and of its debug file */
    size_t table_count;
    uint64_t *returns; /* sorted; see address_source_read_returns() */
    size_t return_count;
    uint64_t *inlined; /* the begins of inlined code */
    size_t inlined_count;
};

/* The return addresses of the calls in `path`, as objdump finds them. */
void address_source_read_returns(struct address_source *source, const char *path);

/* Draw up to `count` addresses of one class into `addresses_out`. Returns how many were drawn, which may be fewer, or
 * 0. */
size_t address_source_draw(const struct address_source *source, enum address_class class, uint64_t *random,
                           size_t count, uint64_t *addresses_out);

#endif
