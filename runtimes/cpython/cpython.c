/* SPDX-License-Identifier: Apache-2.0 */
/* cpython.c - the one interpreter, in a file below all files that use it. */
#include "cpython.h"

struct cpython the_cpython;
