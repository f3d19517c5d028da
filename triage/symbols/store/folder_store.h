/* SPDX-License-Identifier: Apache-2.0 */
/* folder_store.h - images by build-id, in one folder.
 *
 *   FOLDER/TENANT/v2/BUILD-ID.sym    v2: the parser's version; images of other versions are not used
 *
 * An image is written to another name and then renamed, so that a reader sees a complete image or none, even if a
 * writer is killed. Writers take a lock, one after the other; readers need none. The time of an image's file is the
 * time of its last use. */
#ifndef SBX_FOLDER_STORE_H
#define SBX_FOLDER_STORE_H

#include "symbol_store.h"

/* As sbx_symbol_store_open(). */
int sbx_folder_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out);

#endif
