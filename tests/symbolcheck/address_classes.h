/* SPDX-License-Identifier: Apache-2.0 */
/* address_classes.h - addresses of a program's code, drawn at random from those of one sort. */
#ifndef ADDRESS_CLASSES_H
#define ADDRESS_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "elf_symbols.h"

enum address_class {
    ADDRESS_ANYWHERE,
    ADDRESS_ENTRY,     /* first bytes of functions */
    ADDRESS_LAST_BYTE, /* and their last ones */
    ADDRESS_RETURN,    /* behind calls, as stacks have them */
    ADDRESS_BEFORE_IT, /* one byte less: within the call */
    ADDRESS_INLINED,   /* where code of an inlined call begins, as our table has it */
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
    const struct sbx_elf_symbols *tables; /* of the file and of its debug file */
    size_t table_count;
    uint64_t *returns; /* in order; see address_source_read_returns() */
    size_t return_count;
    uint64_t *inlined; /* begins of code that was inlined */
    size_t inlined_count;
};

/* Where calls of `path` return to, as objdump sees them. */
void address_source_read_returns(struct address_source *source, const char *path);

/* Up to `count` addresses of one class into `addresses_out`; fewer, or none, where there are none. Returns how many. */
size_t address_source_draw(const struct address_source *source, enum address_class class, uint64_t *random,
                           size_t count, uint64_t *addresses_out);

#endif
