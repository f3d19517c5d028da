/* SPDX-License-Identifier: Apache-2.0 */
/* every_symbol.h - the notes of every_symbol.c, in a file that the test maps as well. */
#ifndef SBX_EVERY_SYMBOL_H
#define SBX_EVERY_SYMBOL_H

#include <stdint.h>

#define EVERY_SYMBOL_FILE "EVERY_SYMBOL_FILE" /* environment variable: a file of EVERY_SYMBOLS_MAX entries, zeroed */

enum {
    EVERY_SYMBOLS_MAX = 256
};

struct every_symbol {
    uint64_t calls; /* calls by libstallbox.so itself */
    char name[56];  /* empty: never called */
};

#endif
