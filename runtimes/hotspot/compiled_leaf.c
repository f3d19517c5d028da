/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_leaf.c - how much of its frame a compiled method has at one of its instructions.
 *
 * The prologue is followed from the entry. C1, and C2 with stack banging, emit `mov [rsp-n], eax; push rbp; sub rsp,
 * n`. A native method's wrapper has `push rbp; mov rbp, rsp; sub rsp, n`. C2 without stack banging emits `sub rsp, n;
 * mov [rsp+m], rbp`. The epilogue is recognised by the instructions that follow: `pop rbp`, then the safepoint poll
 * `cmp rsp, [r15+n]; ja ..`, then `ret`. */
#include "compiled_leaf.h"

#include <string.h>

static int begins(const uint8_t *at, const uint8_t *end, const char *bytes, size_t count)
{
    return (size_t)(end - at) >= count && memcmp(at, bytes, count) == 0;
}

/* Returns the length of the poll's compare instruction at `at`; 0: there is none. */
static size_t poll_compare(const uint8_t *at, const uint8_t *end)
{
    if (begins(at, end, "\x49\x3b\x67", 3)) {
        return 4;
    }
    return begins(at, end, "\x49\x3b\xa7", 3) ? 7 : 0;
}

/* Is `at` in the part of the epilogue after `pop rbp`? */
static int is_way_out(const uint8_t *at, const uint8_t *end)
{
    size_t compare = poll_compare(at, end);
    if (compare != 0) {
        return begins(at + compare < end ? at + compare : end, end, "\x0f\x87", 2);
    }
    if (begins(at, end, "\x0f\x87", 2)) {
        return end - at > 6 && at[6] == 0xc3;
    }
    return begins(at, end, "\xc3", 1);
}

/* Code out of line, for a poll that found a safepoint: lea r10, [rip+n]; mov [r15+n], r10; jmp. */
static int is_slow_way_out(const uint8_t *entry, const uint8_t *at, const uint8_t *end)
{
    for (size_t back = 0; back <= 14; back += 7) {
        if ((size_t)(at - entry) < back) {
            return 0;
        }
        const uint8_t *first = at - back;
        if (begins(first, end, "\x4c\x8d\x15", 3) && end - first > 14 && begins(first + 7, end, "\x4d\x89\x97", 3) &&
            first[14] == 0xe9) {
            return 1;
        }
    }
    return 0;
}

static enum sbx_leaf_frame beginning(const uint8_t *entry, const uint8_t *end, const uint8_t *met)
{
    enum sbx_leaf_frame frame = SBX_LEAF_NONE;
    for (const uint8_t *at = entry; at < met;) {
        if (begins(at, end, "\x89\x84\x24", 3)) { /* mov [rsp+n], eax */
            at += 7;
        } else if (frame == SBX_LEAF_NONE && *at == 0x55) { /* push rbp */
            frame = SBX_LEAF_PUSHED;
            at += 1;
        } else if (begins(at, end, "\x48\x8b\xec", 3) || begins(at, end, "\x48\x89\xe5", 3)) { /* mov rbp, rsp */
            at += 3;
        } else if (begins(at, end, "\x48\x83\xec", 3) || begins(at, end, "\x48\x81\xec", 3)) { /* sub rsp, n */
            frame = frame == SBX_LEAF_PUSHED ? SBX_LEAF_WHOLE : SBX_LEAF_UNSAVED_FP;
            at += at[1] == 0x83 ? 4 : 7;
        } else if (begins(at, end, "\x48\x89\x6c\x24", 4) || begins(at, end, "\x48\x89\xac\x24", 4)) {
            frame = SBX_LEAF_WHOLE; /* mov [rsp+n], rbp */
            at += at[2] == 0x6c ? 5 : 8;
        } else {
            break; /* other instructions here do not change the frame */
        }
    }
    return frame;
}

SBX_SIGNAL_SAFE enum sbx_leaf_frame sbx_compiled_leaf(const uint8_t *entry, const uint8_t *end, const uint8_t *met,
                                                      int is_beginning)
{
    if (met < entry || met >= end) {
        return SBX_LEAF_NONE; /* the code before the entry compares the receiver's class */
    }
    if (is_beginning) {
        return beginning(entry, end, met);
    }
    if (*met == 0x5d && is_way_out(met + 1, end)) {
        return SBX_LEAF_PUSHED;
    }
    if (is_way_out(met, end) || is_slow_way_out(entry, met, end)) {
        return SBX_LEAF_NONE;
    }
    return SBX_LEAF_WHOLE;
}

/* Is there an `add` or `sub` of `count` to rsp at `at`? `which`: the third byte. Returns the instruction's length; 0:
 * there is none. */
static uint32_t moves_stack(const uint8_t *at, const uint8_t *end, uint8_t which, uint32_t count)
{
    const uint8_t near[] = {0x48, 0x83, which, (uint8_t)count};
    const uint8_t far[] = {
        0x48, 0x81, which, (uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16), (uint8_t)(count >> 24)};
    if (count < 128 && begins(at, end, (const char *)near, sizeof near)) {
        return sizeof near;
    }
    return begins(at, end, (const char *)far, sizeof far) ? sizeof far : 0;
}

SBX_SIGNAL_SAFE bool sbx_stub_leaf(const uint8_t *code, const uint8_t *end, const uint8_t *met, uint32_t words,
                                   enum sbx_leaf_frame *leaf_out)
{
    enum {
        WAY_OUT = 24, /* bytes: the rest of the epilogue is shorter */
        SUB = 0xec,
        ADD = 0xc4
    };
    /* `words` includes the return address and the saved rbp. After the epilogue's `add`, rbp is on top of the stack. */
    if (words < 2 || met < code || met >= end || moves_stack(code, end, SUB, (words - 1) * 8) == 0) {
        return false;
    }
    *leaf_out = beginning(code, end, met);
    for (uint32_t back = 1; back <= WAY_OUT && (size_t)(met - code) > back && *leaf_out == SBX_LEAF_WHOLE; back++) {
        uint32_t bytes = moves_stack(met - back, end, ADD, (words - 2) * 8);
        if (bytes != 0 && bytes <= back) {
            *leaf_out = bytes == back                          ? SBX_LEAF_PUSHED
                        : bytes + 1 == back && met[-1] == 0x5d ? SBX_LEAF_NONE /* pop rbp */
                                                               : SBX_LEAF_UNKNOWN;
        }
    }
    return true;
}
