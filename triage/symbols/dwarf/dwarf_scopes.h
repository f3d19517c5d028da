/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_scopes.h - the namespaces, types and functions in which an entry was written.
 *
 * dwarf_getscopes_die() walks the unit for each call. Here a unit is walked once, at the first question about it. */
#ifndef SBX_DWARF_SCOPES_H
#define SBX_DWARF_SCOPES_H

#include <stdbool.h>

#include <elfutils/libdw.h>

#include "dwarf_sections.h"

struct sbx_dwarf_scopes;

/* `budget` is borrowed until destroy. NULL if memory runs out. */
struct sbx_dwarf_scopes *sbx_dwarf_scopes_create(struct sbx_dwarf_budget *budget);
void sbx_dwarf_scopes_destroy(struct sbx_dwarf_scopes *scopes);
/* Drop all units. Call it before a Dwarf with such units is released. */
void sbx_dwarf_scopes_forget(struct sbx_dwarf_scopes *scopes);

/* The DIE that encloses `die`. `die` must be of a kind that can contain functions, and outside of inlined calls. False
 * if the encloser is the unit, or if nothing is known of `die`. */
bool sbx_dwarf_scopes_parent(struct sbx_dwarf_scopes *scopes, Dwarf_Die *die, Dwarf_Die *parent_out);

/* Whether functions may lie below a DIE of this tag. */
bool sbx_dwarf_may_hold_functions(unsigned tag);

#endif
