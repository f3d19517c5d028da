/* SPDX-License-Identifier: Apache-2.0 */
/* importing_module.c - a module that calls one function that waits, and one that does not. */
#include <poll.h>
#include <unistd.h>

int wait_and_ask(void);

int wait_and_ask(void)
{
    return poll(NULL, 0, 0) + (int)getppid();
}
