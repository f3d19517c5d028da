/* SPDX-License-Identifier: Apache-2.0 */
/* stable_name.h - the form of a function's name that is the same in all builds. Pure. */
#ifndef SBX_STABLE_NAME_H
#define SBX_STABLE_NAME_H

enum {
    SBX_STABLE_NAME_BYTES = 200 /* longer names are cut; the beginning is enough to tell them apart */
};

/* Removes the suffixes that compilers append to copies (".constprop.0", ".part.1", " [clone .cold]", ".lto_priv.0"),
 * Rust's hash, parameters, return type and ABI tags. A lambda gets the name of the function that contains it. Template
 * arguments stay, because two handlers may differ in them alone.
 *
 *     "void app::Box<int>::open(int)::{lambda()#1}::operator()() const" is "app::Box<int>::open" */
void sbx_stable_name(const char *function, char out[SBX_STABLE_NAME_BYTES]);

#endif
