/* SPDX-License-Identifier: Apache-2.0 */
/* kept_child.h - another process of the family, which has done some work and waits to be killed. */
#ifndef KEPT_CHILD_H
#define KEPT_CHILD_H

#include <stdint.h>

/* Fork a child that calls work(what) and sleeps. Returns its process id once work() has returned in the child. */
uint32_t kept_child_begin(void (*work)(void *), void *what);
void kept_child_end(uint32_t pid);

#endif
