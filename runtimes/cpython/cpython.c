/* SPDX-License-Identifier: Apache-2.0 */
/* cpython.c - the one interpreter, below all that works with it. */
#include "cpython.h"

struct cpython the_cpython;
