/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_filter.c - one pass through a filter in which only the call's number and the architecture are known.
 *
 * Jumps of classic BPF only go forward, so each instruction is met after all instructions that lead to it. The
 * knowledge about the accumulator is joined over all paths to an instruction, so no path is walked twice. The index
 * register and the scratch words are taken as unknown. libseccomp and the filters of browsers, container runtimes and
 * systemd do not use them. */
#include "sandbox_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "marks.h"

#if defined(__x86_64__)
enum {
    OUR_ARCHITECTURE = (int)AUDIT_ARCH_X86_64
};
#elif defined(__aarch64__)
enum {
    OUR_ARCHITECTURE = (int)AUDIT_ARCH_AARCH64
};
#endif

/* docs/SANDBOXES.md has both lists (tests/lint/sandbox_calls.sh). tests/lint/call_threads.txt says which threads make
 * each call. */
const uint16_t sbx_calls_on_their_threads[] = {
    SYS_process_vm_readv, /* stacks, words of locks */
    SYS_getrusage,        /* faults and switches of a wait */
    SYS_clock_gettime,    /* CPU time, and where the vdso has no clock */
    SYS_gettid,
    SYS_getpid,
    SYS_futex, /* the bell */
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_tgsigqueueinfo, /* sends a fatal signal on to its receiver */
    SYS_tgkill,
    SYS_sigaltstack, /* does a signal handler make the call? */
    SYS_prctl,       /* a new thread's name */
    SYS_prlimit64,
    SYS_sched_getaffinity,  /* pthread_getattr_np() */
    SYS_sched_getscheduler, /* a fork that waits for the agent */
    SYS_mmap,
    SYS_munmap,
    SYS_madvise,
    SYS_fstat, /* what a descriptor is */
    SYS_fcntl, /* does a call on it wait? */
    SYS_getsockopt,
    SYS_capget,     /* before setuid() and similar calls */
    SYS_newfstatat, /* before unshare() and similar calls */
#if defined(SYS_stat) && !(defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33))
    SYS_stat, /* the same in other C libraries */
#endif
};
const size_t sbx_calls_on_their_threads_count = SBX_COUNT_OF(sbx_calls_on_their_threads);

/* The same where process_vm_readv was refused at the start: stacks are read from /proc/self/mem
 * (handler/stack_copy.c). */
static const uint16_t calls_by_file[] = {SYS_openat, SYS_pread64, SYS_close};

/* clang-format off */
const uint16_t sbx_calls_on_our_threads[] = {
    SYS_clock_nanosleep,  SYS_getuid,            SYS_getxattr,     SYS_faccessat, SYS_membarrier, SYS_openat,    SYS_read,
    SYS_pread64,          SYS_write,             SYS_pwrite64,     SYS_close,      SYS_close_range, SYS_lseek,
    SYS_statx,            SYS_fstatfs,           SYS_getdents64,   SYS_readlinkat, SYS_mkdirat,   SYS_unlinkat,
    SYS_renameat,         SYS_renameat2,         SYS_utimensat,    SYS_ftruncate,         SYS_fallocate,    SYS_fsync,      SYS_flock,     SYS_fchmod,
    SYS_getrandom,        SYS_mprotect,          SYS_unshare,      SYS_geteuid,    SYS_kill, SYS_exit,
#ifdef SYS_open /* libc uses these where both exist */
    SYS_stat,             SYS_readlink,          SYS_mkdir,        SYS_unlink,     SYS_rename,    SYS_access,
#ifndef __GLIBC__
    SYS_open,             SYS_nanosleep,
#endif
#endif
};
/* clang-format on */
const size_t sbx_calls_on_our_threads_count = SBX_COUNT_OF(sbx_calls_on_our_threads);

/* Calls for samples of running threads only, on threads of the program and of the agent. If a filter harms only these,
 * such samples end, but the recorder does not. */
const uint16_t sbx_calls_for_asking[] = {
    SYS_timer_create, SYS_timer_settime, SYS_timer_delete,    SYS_sigaltstack,
    SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait, /* did only the sample signal cut the call short? */
#ifdef SYS_arch_prctl
    SYS_arch_prctl, /* how large a signal's frame may be */
#endif
};
const size_t sbx_calls_for_asking_count = SBX_COUNT_OF(sbx_calls_for_asking);

static void reach(struct sbx_filter_step *step, bool is_known, uint32_t value)
{
    if (step->is_reached == 0) {
        *step = (struct sbx_filter_step){.value = value, .is_reached = 1, .is_known = is_known};
    } else if (!is_known || step->value != value) {
        step->is_known = 0;
    }
}

static bool is_harmless(uint32_t action)
{
    action &= SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_LOG;
}

/* The accumulator after a load; false: its value is not known. */
static bool load(const struct sock_filter *code, uint32_t call, uint32_t *value_out)
{
    if (code->code == (BPF_LD | BPF_IMM)) {
        *value_out = code->k;
        return true;
    }
    if (code->code == (BPF_LD | BPF_W | BPF_ABS) && code->k == offsetof(struct seccomp_data, nr)) {
        *value_out = call;
        return true;
    }
    if (code->code == (BPF_LD | BPF_W | BPF_ABS) && code->k == offsetof(struct seccomp_data, arch)) {
        *value_out = (uint32_t)OUR_ARCHITECTURE;
        return true;
    }
    return false;
}

static bool compute(const struct sock_filter *code, uint32_t *value)
{
    switch (code->code) {
    case BPF_ALU | BPF_AND | BPF_K:
        *value &= code->k;
        return true;
    case BPF_ALU | BPF_OR | BPF_K:
        *value |= code->k;
        return true;
    case BPF_ALU | BPF_XOR | BPF_K:
        *value ^= code->k;
        return true;
    case BPF_ALU | BPF_ADD | BPF_K:
        *value += code->k;
        return true;
    case BPF_ALU | BPF_SUB | BPF_K:
        *value -= code->k;
        return true;
    default:
        return false;
    }
}

/* One of the four conditions that exist (kernel/seccomp.c accepts no other), on a number or on the index register. */
static bool is_condition(uint16_t code)
{
    uint16_t operation = code & (uint16_t)~BPF_X;
    return operation == (BPF_JMP | BPF_JEQ) || operation == (BPF_JMP | BPF_JGT) || operation == (BPF_JMP | BPF_JGE) ||
           operation == (BPF_JMP | BPF_JSET);
}

/* Decides whether a conditional jump is taken; false: both ways are possible. */
static bool decide(const struct sock_filter *code, uint32_t value, bool *taken_out)
{
    switch (code->code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
        *taken_out = value == code->k;
        return true;
    case BPF_JMP | BPF_JGT | BPF_K:
        *taken_out = value > code->k;
        return true;
    case BPF_JMP | BPF_JGE | BPF_K:
        *taken_out = value >= code->k;
        return true;
    case BPF_JMP | BPF_JSET | BPF_K:
        *taken_out = (value & code->k) != 0;
        return true;
    default:
        return false;
    }
}

/* Continue from instruction `at` with `at` + 1 + `distance`. False: that is outside of the program; the kernel accepts
 * no such filter. */
static bool go(struct sbx_filter_step *steps, size_t length, size_t at, uint32_t distance, bool is_known,
               uint32_t value)
{
    if (distance >= length - at - 1) {
        return false;
    }
    reach(&steps[at + 1 + distance], is_known, value);
    return true;
}

bool sbx_filter_harms_call(const struct sock_filter *code, size_t length, uint32_t call, struct sbx_filter_step *steps)
{
    if (length == 0 || length > SBX_FILTER_LENGTH_MAX) {
        return true;
    }
    memset(steps, 0, length * sizeof *steps);
    reach(&steps[0], true, 0);
    for (size_t i = 0; i < length; i++) {
        if (steps[i].is_reached == 0) {
            continue;
        }
        bool is_known = steps[i].is_known != 0, goes_on = true, taken = false;
        uint32_t value = steps[i].value;
        switch (BPF_CLASS(code[i].code)) {
        case BPF_RET:
            if (!(code[i].code == (BPF_RET | BPF_K) && is_harmless(code[i].k)) &&
                !(code[i].code == (BPF_RET | BPF_A) && is_known && is_harmless(value))) {
                return true;
            }
            continue;
        case BPF_JMP:
            if (code[i].code == (BPF_JMP | BPF_JA)) {
                goes_on = go(steps, length, i, code[i].k, is_known, value);
            } else if (!is_condition(code[i].code)) {
                return true;
            } else if (is_known && decide(&code[i], value, &taken)) {
                goes_on = go(steps, length, i, taken ? code[i].jt : code[i].jf, true, value);
            } else {
                goes_on = go(steps, length, i, code[i].jt, is_known, value) &&
                          go(steps, length, i, code[i].jf, is_known, value);
            }
            break;
        case BPF_LD:
            is_known = load(&code[i], call, &value);
            goes_on = go(steps, length, i, 0, is_known, value);
            break;
        case BPF_ALU:
            is_known = is_known && compute(&code[i], &value);
            goes_on = go(steps, length, i, 0, is_known, value);
            break;
        case BPF_MISC: /* TXA loads the value of the index register */
            goes_on = go(steps, length, i, 0, is_known && BPF_MISCOP(code[i].code) == BPF_TAX, value);
            break;
        default: /* LDX, ST, STX do not change the accumulator */
            goes_on = go(steps, length, i, 0, is_known, value);
            break;
        }
        if (!goes_on) {
            return true;
        }
    }
    return false;
}

bool sbx_filter_can_harm(const struct sock_filter *code, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (BPF_CLASS(code[i].code) == BPF_RET && (code[i].code != (BPF_RET | BPF_K) || !is_harmless(code[i].k))) {
            return true;
        }
    }
    return false;
}

bool sbx_filter_harms_us(const struct sock_filter *code, size_t length, bool for_all_threads, bool copies_by_file,
                         struct sbx_filter_step *steps)
{
    for (size_t i = 0; copies_by_file && i < SBX_COUNT_OF(calls_by_file); i++) {
        if (sbx_filter_harms_call(code, length, calls_by_file[i], steps)) {
            return true;
        }
    }
    for (size_t i = 0; i < sbx_calls_on_their_threads_count; i++) {
        if (sbx_filter_harms_call(code, length, sbx_calls_on_their_threads[i], steps)) {
            return true;
        }
    }
    for (size_t i = 0; for_all_threads && i < sbx_calls_on_our_threads_count; i++) {
        if (sbx_filter_harms_call(code, length, sbx_calls_on_our_threads[i], steps)) {
            return true;
        }
    }
    return false;
}

bool sbx_filter_harms_asking(const struct sock_filter *code, size_t length, struct sbx_filter_step *steps)
{
    for (size_t i = 0; i < sbx_calls_for_asking_count; i++) {
        if (sbx_filter_harms_call(code, length, sbx_calls_for_asking[i], steps)) {
            return true;
        }
    }
    return false;
}
