/* SPDX-License-Identifier: Apache-2.0 */
/* module_read.h - a module that the program has imported, and what it names, without an import and without a look-up by Python. */
#ifndef MODULE_READ_H
#define MODULE_READ_H

#include <stdint.h>

#include "cpython.h"

/* The dict of the module of that name in sys.modules; 0: it is not there, or is no module. Signal safe. */
uint64_t module_dict(const struct cpython *cpython, const char *module);

/* What the module's dict has under that name; 0: nothing. Signal safe. */
uint64_t module_object(const struct cpython *cpython, uint64_t dict, const char *name);

#endif
