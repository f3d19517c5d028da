/* SPDX-License-Identifier: Apache-2.0 */
/* instance_read.h - reads an attribute of an object whose class Python code defined, from 3.11 on. The class has the
 * names and the object has the values, until a program asks for the object's dict. */
#ifndef INSTANCE_READ_H
#define INSTANCE_READ_H

#include <stdint.h>

#include "await_layout.h"
#include "cpython.h"

/* Returns the value; 0: there is none, or it cannot be read. Signal safe. */
uint64_t instance_attribute(const struct cpython *cpython, const struct await_layout *layout, uint64_t object,
                            const char *name);

#endif
