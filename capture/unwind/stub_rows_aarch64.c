/* SPDX-License-Identifier: Apache-2.0 */
/* stub_rows_aarch64.c - the PLT as bfd, gold and lld write it, recognized by its instructions.
 *
 *     head    stp x16, x30, [sp, #-16]!          stub    (bti c)
 *             adrp x16, page                             adrp x16, page
 *             ldr x17, [x16, #low]                       ldr x17, [x16, #low]
 *             add x16, x16, #low                         add x16, x16, #low
 *             br x17                                     (autia1716)
 *                                                        br x17
 *
 * A stub does not change sp or x30. */
#include "byte_reader.h"
#include "stub_rows.h"
#include "unwind_rule.h"

enum {
    INSTRUCTION = 4
};

#define RULE_LEAF ((uint32_t)SBX_RULE_FROM_SP) /* CFA = sp, return address in x30 */
/* CFA = sp + 16, x30 at CFA - 8 */
#define RULE_HEAD (1u << SBX_RULE_APART_SHIFT | 1u << SBX_RULE_RETURN_SHIFT | (uint32_t)SBX_RULE_APART)

static uint32_t instruction_at(const uint8_t *code, size_t bytes, size_t at)
{
    struct sbx_byte_reader reader = {code + at, code + bytes, false};
    return sbx_read_u32(&reader); /* behind the end: 0, which is no instruction of a stub */
}

/* The size in bytes of the jump through a slot that begins at `at`; 0: there is no such jump. */
static size_t match_jump(const uint8_t *code, size_t bytes, size_t at)
{
    if (at + 3 * INSTRUCTION >= bytes || (instruction_at(code, bytes, at) & 0x9f00001f) != 0x90000010 ||
        (instruction_at(code, bytes, at + INSTRUCTION) & 0xffc003ff) != 0xf9400211 ||
        (instruction_at(code, bytes, at + 2 * INSTRUCTION) & 0xff8003ff) != 0x91000210) {
        return 0;
    }
    size_t length = 3 * INSTRUCTION;
    if (at + length < bytes && instruction_at(code, bytes, at + length) == 0xd503219f) { /* autia1716 */
        length += INSTRUCTION;
    }
    return at + length < bytes && instruction_at(code, bytes, at + length) == 0xd61f0220 ? length + INSTRUCTION : 0;
}

int sbx_stub_rows_put(const uint8_t *code, size_t bytes, uint64_t address, sbx_rule_put *put, void *context)
{
    bytes &= ~(size_t)3;
    for (size_t at = 0; at < bytes;) {
        size_t begin = at;
        uint32_t first = instruction_at(code, bytes, at);
        bool is_head = first == 0xa9bf7bf0;
        size_t jump = at + (is_head || first == 0xd503245f ? INSTRUCTION : 0); /* after stp, or after bti c */
        size_t length = jump < bytes ? match_jump(code, bytes, jump) : 0;
        if (length == 0) {
            at += INSTRUCTION;
            continue;
        }
        at = jump + length;
        int result = put(context, address + begin, RULE_LEAF);
        if (result == 0 && is_head) {
            result = put(context, address + jump, RULE_HEAD);
        }
        if (result == 0) {
            result = put(context, address + at, SBX_RULE_NONE);
        }
        if (result != 0) {
            return result;
        }
    }
    return 0;
}
