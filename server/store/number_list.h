/* SPDX-License-Identifier: Apache-2.0 */
/* number_list.h - several row numbers as one value of a statement, which reads it by json_each(): "[1,2,3]". */
#ifndef SBX_NUMBER_LIST_H
#define SBX_NUMBER_LIST_H

#include <stdint.h>

#include "byte_buffer.h"

/* In a statement: "place IN " SBX_LISTED("?1"). */
#define SBX_LISTED(parameter) "(SELECT CAST(j.value AS bigint) FROM json_each(" parameter ") j)"

static inline void sbx_number_list_add(struct sbx_byte_buffer *list, int64_t number)
{
    sbx_byte_buffer_format(list, "%c%lld", list->used > 0 ? ',' : '[', (long long)number);
}

/* Close the list. An empty list is valid too. */
static inline void sbx_number_list_end(struct sbx_byte_buffer *list)
{
    sbx_byte_buffer_text(list, list->used > 0 ? "]" : "[]");
}

#endif
