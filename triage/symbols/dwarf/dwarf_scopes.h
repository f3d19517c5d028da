/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_scopes.h - in which namespaces, types and functions something was written.
 *
 * dwarf_getscopes_die() walks the unit for each question; here a unit is walked once, when it is first asked about. */
#ifndef SBX_DWARF_SCOPES_H
#define SBX_DWARF_SCOPES_H

#include <stdbool.h>

#include <elfutils/libdw.h>

#include "dwarf_sections.h"

struct sbx_dwarf_scopes;

/* `budget` is borrowed until destroy. NULL without memory. */
struct sbx_dwarf_scopes *sbx_dwarf_scopes_create(struct sbx_dwarf_budget *budget);
void sbx_dwarf_scopes_destroy(struct sbx_dwarf_scopes *scopes);
/* Forget all units: to be called when a Dwarf that was asked about goes. */
void sbx_dwarf_scopes_forget(struct sbx_dwarf_scopes *scopes);

/* The DIE that encloses `die`, which is of a kind that can hold functions, and lies in no inlined call. False when it is
 * the unit, or nothing is known of `die`. */
bool sbx_dwarf_scopes_parent(struct sbx_dwarf_scopes *scopes, Dwarf_Die *die, Dwarf_Die *parent_out);

/* Whether functions may be found below a DIE of this tag. */
bool sbx_dwarf_may_hold_functions(unsigned tag);

#endif
