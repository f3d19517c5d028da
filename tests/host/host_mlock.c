/* SPDX-License-Identifier: Apache-2.0 */
/* host_mlock.c - a small program that waits for a while and then locks all of its memory. */
#include <sys/mman.h>
#include <time.h>

int main(void)
{
    for (int i = 0; i < 10; i++) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    return mlockall(MCL_CURRENT) != 0;
}
