/* SPDX-License-Identifier: Apache-2.0 */
/* known_share_library.c - the library's part of known_share.c. */
#include "known_work.h"

__attribute__((visibility("default"))) uint64_t known_work_of_library(uint64_t state);

uint64_t known_work_of_library(uint64_t state)
{
    return known_work(state);
}
