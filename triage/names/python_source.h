/* SPDX-License-Identifier: Apache-2.0 */
/* python_source.h - the functions of a Python file, as the interpreter will call them.
 *
 *     id     FNV-1a of "FILE:LINE:NAME"; FILE less its entry of sys.path, LINE that of `def`, `class`, `lambda`, the bracket of a comprehension,
 *            or of the first decorator
 *     NAME   the qualified name (3.11 on) and the plain one (before): both are told, each with its id
 *
 * Comprehensions are functions of their own up to 3.11, and mostly not from 3.12 on, which shows in the qualified names of what lies in
 * them: again both are told. An id that no interpreter makes harms nobody. */
#ifndef SBX_PYTHON_SOURCE_H
#define SBX_PYTHON_SOURCE_H

#include "name_list.h"

/* Add the functions of `text`. `file`: what the interpreter calls it less the folder, "shop/pay.py". Returns 0 or -errno. */
int sbx_python_source_read(struct sbx_name_list *list, struct sbx_name_text file, struct sbx_name_text text);

#endif
