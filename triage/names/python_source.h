/* SPDX-License-Identifier: Apache-2.0 */
/* python_source.h - the functions of a Python file, with the names that the interpreter gives them.
 *
 *     id     FNV-1a of "FILE:LINE:NAME"
 *     FILE   the file's name without its entry of sys.path
 *     LINE   line of `def`, `class`, `lambda`, the bracket of a comprehension, or the first decorator
 *     NAME   the qualified name (from 3.11 on) and the plain one (before): both are added, each with its id
 *
 * Comprehensions are functions of their own up to 3.11, and mostly not from 3.12 on. This changes the qualified names
 * of functions within them, so again both names are added. An unused id does no harm. */
#ifndef SBX_PYTHON_SOURCE_H
#define SBX_PYTHON_SOURCE_H

#include "name_list.h"

/* Add the functions of `text`. `file`: the interpreter's name of the file, without the folder: "shop/pay.py". Returns 0
 * or -errno. */
int sbx_python_source_read(struct sbx_name_list *list, struct sbx_name_text file, struct sbx_name_text text);

#endif
