/* SPDX-License-Identifier: Apache-2.0 */
/* vm_memory.c - the functions for guarded loads; none until a caller sets them. */
#include "vm_memory.h"

static bool nothing_is_there(uint64_t address, uint64_t *word_out)
{
    (void)address;
    (void)word_out;
    return false;
}

sbx_vm_load_word sbx_vm_guarded_load = nothing_is_there;
sbx_vm_load_words sbx_vm_guarded_load_many;
