/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_target.h - the function that libFuzzer or replay_main.c calls, and how a target reports a broken property. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MUST(condition)   \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
