/* SPDX-License-Identifier: Apache-2.0 */
/* class_file.h - the methods of a Java class file, as the provider will call them.
 *
 *     id          FNV-1a of "FILE:LINE:CLASS.METHOD"
 *     FILE        from the attribute SourceFile; "" if there is none
 *     LINE        line of the method's first bytecode; 0 if there is no table of lines, and for native methods
 *     CLASS       with dots; numbers and addresses that differ from run to run are removed, as the provider does */
#ifndef SBX_CLASS_FILE_H
#define SBX_CLASS_FILE_H

#include "class_mapping.h"

/* Add the methods of a class file, with the names and lines of the original source as far as `mapping` (NULL: none) has
 * them. Returns 0, -EBADMSG if it is not a class file or is damaged (methods before the damage are added), -ENOMEM. */
int sbx_class_file_read(struct sbx_name_list *list, struct sbx_name_text bytes,
                        const struct sbx_class_mapping *mapping);

/* Add the methods of the classes in an archive (jar, war), and in archives within it. Returns 0, or -errno as
 * sbx_jar_read(). Damaged classes are skipped. */
int sbx_class_archive_read(struct sbx_name_list *list, struct sbx_name_text archive,
                           const struct sbx_class_mapping *mapping);

#endif
