/* SPDX-License-Identifier: Apache-2.0 */
/* look_library.c - the library that look_changing.c loads. */
#include <unistd.h>

void wait_in_library(void (*ready)(void));

__attribute__((visibility("default"))) void wait_in_library(void (*ready)(void))
{
    char byte;
    ready();
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(3);
    }
    __asm__ volatile("" ::: "memory");
}
