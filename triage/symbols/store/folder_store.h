/* SPDX-License-Identifier: Apache-2.0 */
/* folder_store.h - images by build-id, in one folder.
 *
 *   FOLDER/TENANT/v2/BUILD-ID.sym    v2: the parser's version; what another version made is not seen
 *
 * An image is written beside its place and renamed into it, so that a reader sees all of it or nothing, whenever a writer
 * is killed. Writers take turns by a lock; readers need none. When an image was last asked for is its file's time. */
#ifndef SBX_FOLDER_STORE_H
#define SBX_FOLDER_STORE_H

#include "symbol_store.h"

/* As sbx_symbol_store_open(). */
int sbx_folder_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out);

#endif
