/* SPDX-License-Identifier: Apache-2.0 */
/* instance_read.h - an attribute of an object of a class that Python code defined, from 3.11 on: its class has the names, and the
 * object the values, until something asks it for a dict. */
#ifndef INSTANCE_READ_H
#define INSTANCE_READ_H

#include <stdint.h>

#include "await_layout.h"
#include "cpython.h"

/* The value; 0: there is none, or it cannot be read. Signal safe. */
uint64_t instance_attribute(const struct cpython *cpython, const struct await_layout *layout, uint64_t object,
                            const char *name);

#endif
