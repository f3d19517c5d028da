/* SPDX-License-Identifier: Apache-2.0 */
/* stable_name.h - a function's name as it stays the same from build to build. Pure. */
#ifndef SBX_STABLE_NAME_H
#define SBX_STABLE_NAME_H

enum {
    SBX_STABLE_NAME_BYTES = 200 /* what is longer is cut: its beginning tells it from others */
};

/* Without what compilers append to copies (".constprop.0", ".part.1", " [clone .cold]", ".lto_priv.0"), Rust's hash, parameters,
 * return type and ABI tags; a lambda is the function that it was written in. Template arguments stay: they tell two handlers
 * from one another. "void app::Box<int>::open(int)::{lambda()#1}::operator()() const" is "app::Box<int>::open". */
void sbx_stable_name(const char *function, char out[SBX_STABLE_NAME_BYTES]);

#endif
