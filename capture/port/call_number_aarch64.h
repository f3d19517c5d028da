/* SPDX-License-Identifier: Apache-2.0 */
/* call_number_aarch64.h - maps the numbers of include/uapi/asm-generic/unistd.h to those of
 * arch/x86/entry/syscalls/syscall_64.tbl. Included by call_number.h only. */
#ifndef SBX_CALL_NUMBER_AARCH64_H
#define SBX_CALL_NUMBER_AARCH64_H

static inline uint64_t sbx_recorded_call_number(uint64_t number)
{
    /* The calls that have a name in proto/names.c. */
    static const struct {
        uint16_t here, recorded;
    } calls[] = {
        {4, 208},   /* io_getevents */
        {22, 281},  /* epoll_pwait */
        {25, 72},   /* fcntl */
        {29, 16},   /* ioctl */
        {32, 73},   /* flock */
        {35, 263},  /* unlinkat */
        {38, 264},  /* renameat */
        {39, 166},  /* umount2 */
        {40, 165},  /* mount */
        {46, 77},   /* ftruncate */
        {47, 285},  /* fallocate */
        {56, 257},  /* openat */
        {57, 3},    /* close */
        {61, 217},  /* getdents64 */
        {63, 0},    /* read */
        {64, 1},    /* write */
        {65, 19},   /* readv */
        {66, 20},   /* writev */
        {67, 17},   /* pread64 */
        {68, 18},   /* pwrite64 */
        {69, 295},  /* preadv */
        {70, 296},  /* pwritev */
        {71, 40},   /* sendfile */
        {72, 270},  /* pselect6 */
        {73, 271},  /* ppoll */
        {75, 278},  /* vmsplice */
        {76, 275},  /* splice */
        {77, 276},  /* tee */
        {80, 5},    /* fstat */
        {81, 162},  /* sync */
        {82, 74},   /* fsync */
        {83, 75},   /* fdatasync */
        {84, 277},  /* sync_file_range */
        {95, 247},  /* waitid */
        {98, 202},  /* futex */
        {101, 35},  /* nanosleep */
        {115, 230}, /* clock_nanosleep */
        {124, 24},  /* sched_yield */
        {128, 219}, /* restart_syscall */
        {133, 130}, /* rt_sigsuspend */
        {136, 127}, /* rt_sigpending */
        {137, 128}, /* rt_sigtimedwait */
        {182, 242}, /* mq_timedsend */
        {183, 243}, /* mq_timedreceive */
        {188, 70},  /* msgrcv */
        {189, 69},  /* msgsnd */
        {192, 220}, /* semtimedop */
        {193, 65},  /* semop */
        {202, 43},  /* accept */
        {203, 42},  /* connect */
        {206, 44},  /* sendto */
        {207, 45},  /* recvfrom */
        {210, 48},  /* shutdown */
        {211, 46},  /* sendmsg */
        {212, 47},  /* recvmsg */
        {214, 12},  /* brk */
        {215, 11},  /* munmap */
        {216, 25},  /* mremap */
        {220, 56},  /* clone */
        {221, 59},  /* execve */
        {222, 9},   /* mmap */
        {223, 221}, /* fadvise64 */
        {226, 10},  /* mprotect */
        {227, 26},  /* msync */
        {228, 149}, /* mlock */
        {230, 151}, /* mlockall */
        {233, 28},  /* madvise */
        {242, 288}, /* accept4 */
        {243, 299}, /* recvmmsg */
        {260, 61},  /* wait4 */
        {267, 306}, /* syncfs */
        {269, 307}, /* sendmmsg */
        {276, 316}, /* renameat2 */
        {278, 318}, /* getrandom */
        {283, 324}, /* membarrier */
        {284, 325}, /* mlock2 */
        {285, 326}, /* copy_file_range */
        {286, 327}, /* preadv2 */
        {287, 328}, /* pwritev2 */
        {292, 333}, /* io_pgetevents */
        {426, 426}, /* io_uring_enter */
        {435, 435}, /* clone3 */
        {437, 437}, /* openat2 */
        {441, 441}, /* epoll_pwait2 */
        {449, 449}, /* futex_waitv */
    };
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (calls[i].here == number) {
            return calls[i].recorded;
        }
    }
    return SBX_CALL_UNNAMED | number;
}

#endif
