/* SPDX-License-Identifier: Apache-2.0 */
/* misaligned.c - a program that calls the C library with a stack that is 8 bytes off the ABI's alignment, as assembly,
 * old compilers and some just-in-time compilers do. Without the recorder the functions that it calls work all the
 * same. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 300
};

#define CALL(function, ...) call_misaligned((void *)(uintptr_t)(function), __VA_ARGS__)

/* call_misaligned(function, a, b, c) */
long call_misaligned(void *function, ...);
__asm__(".text\n"
        ".type call_misaligned, @function\n"
        "call_misaligned:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "and $-16, %rsp\n"
        "sub $8, %rsp\n"
        "mov %rdi, %r11\n"
        "mov %rsi, %rdi\n"
        "mov %rdx, %rsi\n"
        "mov %rcx, %rdx\n"
        "xor %eax, %eax\n"
        "call *%r11\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *contend(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        CALL(pthread_mutex_lock, &lock, 0, 0);
        CALL(usleep, 300, 0, 0);
        CALL(pthread_mutex_unlock, &lock, 0, 0);
        CALL(pthread_cond_signal, &changed, 0, 0);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    int ends[2];
    char bytes[64] = {0};
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, contend, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct pollfd who = {.fd = ends[0], .events = POLLIN};
        struct timespec soon, pause = {0, 100000};
        struct stat about;
        void *volatile memory = (void *)CALL(malloc, 100 + (i << 8), 0, 0);
        memory = (void *)CALL(realloc, memory, 300 + (i << 8), 0);
        CALL(free, memory, 0, 0);
        CALL(free, CALL(calloc, 3, 5, 0), 0, 0);
        if (CALL(poll, &who, 1, 1) != 0 || CALL(write, ends[1], bytes, sizeof bytes) != sizeof bytes ||
            CALL(poll, &who, 1, -1) != 1 || CALL(read, ends[0], bytes, sizeof bytes) != sizeof bytes ||
            CALL(nanosleep, &pause, NULL, 0) != 0 || CALL(stat, "/", &about, 0) != 0) {
            return 2;
        }
        int file = (int)CALL(open, "/dev/null", O_RDWR, 0);
        if (file < 0 || CALL(close, file, 0, 0) != 0) {
            return 3;
        }
        memset(bytes, 0, sizeof bytes);
        if (dprintf(ends[1], "%d %.2f %s", i, 1.25, "x") <= 0 || read(ends[0], bytes, sizeof bytes) <= 0 ||
            strstr(bytes, " 1.25 x") == NULL) { /* aligned: arguments in vector registers arrive */
            return 5;
        }
        CALL(pthread_mutex_lock, &lock, 0, 0);
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += soon.tv_nsec < 999000000 ? 500000 : 0;
        CALL(pthread_cond_timedwait, &changed, &lock, &soon);
        CALL(pthread_mutex_unlock, &lock, 0, 0);
    }
    return CALL(pthread_join, thread, NULL, 0) == 0 ? 0 : 4;
}
