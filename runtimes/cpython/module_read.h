/* SPDX-License-Identifier: Apache-2.0 */
/* module_read.h - a module that the program has imported, and the objects that it names. Neither an import nor a lookup
 * by Python is made. */
#ifndef MODULE_READ_H
#define MODULE_READ_H

#include <stdint.h>

#include "cpython.h"

/* Returns the dict of the module with this name in sys.modules; 0: there is none, or it is no module. Signal safe. */
uint64_t module_dict(const struct cpython *cpython, const char *module);

/* Returns the object that has this name in the module's dict; 0: none. Signal safe. */
uint64_t module_object(const struct cpython *cpython, uint64_t dict, const char *name);

#endif
