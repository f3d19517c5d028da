/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - seccomp filters, which are written by the program.
 *
 * The input is a filter, eight bytes an instruction. It is run here as the kernel runs it (kernel/seccomp.c and
 * net/core/filter.c: 32-bit words, an index register, sixteen scratch words), with arguments made from the input.
 * Property: a call that is judged harmless is allowed, logged or refused with any arguments. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "sandbox_filter.h"

#ifdef __x86_64__
#define HERE AUDIT_ARCH_X86_64
#else
#define HERE AUDIT_ARCH_AARCH64
#endif

struct machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

/* clang-format off */
static bool compute(uint16_t operation, uint32_t *a, uint32_t by)
{
    switch (operation) {
    case BPF_ADD: *a += by; return true;
    case BPF_SUB: *a -= by; return true;
    case BPF_MUL: *a *= by; return true;
    case BPF_DIV: *a = by != 0 ? *a / by : 0; return by != 0;
    case BPF_AND: *a &= by; return true;
    case BPF_OR: *a |= by; return true;
    case BPF_XOR: *a ^= by; return true;
    case BPF_LSH: *a <<= by & 31; return true;
    case BPF_RSH: *a >>= by & 31; return true;
    case BPF_NEG: *a = 0 - *a; return true;
    default: return false;
    }
}
/* clang-format on */

/* The action, or false: no kernel accepts such a filter. */
static bool run(const struct sock_filter *code, size_t length, const struct seccomp_data *data, uint32_t *action_out)
{
    struct machine machine = {0};
    for (size_t i = 0; i < length; i++) {
        const struct sock_filter *at = &code[i];
        if (at->code > 0xff ||
            (BPF_CLASS(at->code) == BPF_JMP && BPF_OP(at->code) == BPF_JA && at->code != (BPF_JMP | BPF_JA))) {
            return false;
        }
        uint32_t other = BPF_SRC(at->code) == BPF_X ? machine.x : at->k;
        switch (BPF_CLASS(at->code)) {
        case BPF_LD:
        case BPF_LDX: {
            uint32_t *to = BPF_CLASS(at->code) == BPF_LD ? &machine.a : &machine.x;
            if (BPF_MODE(at->code) == BPF_ABS && at->code == (BPF_LD | BPF_W | BPF_ABS) && at->k % 4 == 0 &&
                at->k <= sizeof *data - 4) {
                memcpy(to, (const uint8_t *)data + at->k, 4);
            } else if (BPF_MODE(at->code) == BPF_IMM) {
                *to = at->k;
            } else if (BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS) {
                *to = machine.memory[at->k];
            } else if (BPF_MODE(at->code) == BPF_LEN) {
                *to = sizeof *data;
            } else {
                return false;
            }
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (at->k >= BPF_MEMWORDS) {
                return false;
            }
            machine.memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? machine.a : machine.x;
            break;
        case BPF_ALU:
            if (!compute(BPF_OP(at->code), &machine.a, other)) {
                return false;
            }
            break;
        case BPF_JMP: {
            uint32_t distance;
            switch (BPF_OP(at->code)) {
            case BPF_JA:
                distance = at->k;
                break;
            case BPF_JEQ:
                distance = machine.a == other ? at->jt : at->jf;
                break;
            case BPF_JGT:
                distance = machine.a > other ? at->jt : at->jf;
                break;
            case BPF_JGE:
                distance = machine.a >= other ? at->jt : at->jf;
                break;
            case BPF_JSET:
                distance = (machine.a & other) != 0 ? at->jt : at->jf;
                break;
            default:
                return false;
            }
            i += distance; /* beyond the end: the loop ends, and so does the filter */
            break;
        }
        case BPF_RET:
            *action_out = BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;
            return BPF_RVAL(at->code) == BPF_A || BPF_RVAL(at->code) == BPF_K;
        default: /* MISC */
            if (BPF_MISCOP(at->code) == BPF_TAX) {
                machine.x = machine.a;
            } else {
                machine.a = machine.x;
            }
            break;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
    static struct sock_filter code[SBX_FILTER_LENGTH_MAX];
    static struct sbx_filter_step steps[SBX_FILTER_LENGTH_MAX];
    static const uint32_t calls[] = {0, 1, 202, 257, 310, 0x40000000, UINT32_MAX};
    size_t length = bytes / sizeof *code;
    length = length < SBX_FILTER_LENGTH_MAX ? length : SBX_FILTER_LENGTH_MAX;
    memcpy(code, input, length * sizeof *code);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        if (sbx_filter_harms_call(code, length, calls[c], steps)) {
            continue;
        }
        for (size_t turn = 0; turn < 16; turn++) {
            struct seccomp_data data = {.nr = (int)calls[c], .arch = HERE};
            uint32_t action = SECCOMP_RET_ALLOW;
            /* Numbers and words of the filter itself, because the values that it compares with are there. */
            for (size_t i = 0; i < 6; i++) {
                const struct sock_filter *some = &code[(turn * 7 + i * 3) % length];
                data.args[i] = turn < 8 ? turn * i : (uint64_t)some->k << (turn % 2 * 32) | some->k;
            }
            data.instruction_pointer = turn * UINT64_C(0x1000000001);
            if (run(code, length, &data, &action)) {
                action &= SECCOMP_RET_ACTION_FULL;
                MUST(action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || action == SECCOMP_RET_ERRNO);
            }
        }
    }
    (void)sbx_filter_harms_us(code, length, true, true, steps);
    return 0;
}
