/* SPDX-License-Identifier: Apache-2.0 */
/* preload.c - converts orders to text and back. */
#include "preload.h"

#include <string.h>

#include "recording_format.h"

static const char digits[] = "0123456789abcdef";

void sbx_orders_print(const struct sbx_preload_orders *orders, char *text)
{
    const uint8_t *bytes = (const uint8_t *)orders;
    for (size_t i = 0; i < sizeof *orders; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = 0;
}

/* The value of a hex digit; -1: it is none. */
static int value_of(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool sbx_orders_parse(const char *text, struct sbx_preload_orders *orders_out)
{
    struct sbx_preload_orders orders;
    uint8_t *bytes = (uint8_t *)&orders;
    if (strlen(text) != 2 * sizeof orders) {
        return false;
    }
    for (size_t i = 0; i < sizeof orders; i++) {
        int high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    if (orders.layout_hash != sbx_layout_hash()) {
        return false;
    }
    *orders_out = orders;
    return true;
}
