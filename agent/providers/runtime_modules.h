/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_modules.h - providers that are modules of their own: libstallbox-NAME.so, loaded when the program has that runtime.
 *
 * They lie in the folder stallbox/ beside our library. Each exports a function,
 *
 *     int stallbox_runtime_attach(char *why, size_t why_bytes);
 *
 * called on the module thread, inside a visit of the loader (loader_visit.h: it may ask dlsym(), and must not wait): 1, it has
 * registered its provider; 0, not yet: it is called again, at most SBX_RUNTIME_PAUSE_MAX_MS later; -1, never, and
 * `why` says so in words. And it may export
 *
 *     uint32_t stallbox_runtime_version(void);
 *
 * called on the same thread after that: the runtime's version, major << 16 | minor; 0: not known. A program without such a runtime pays a comparison of file names when its modules change. */
#ifndef SBX_RUNTIME_MODULES_H
#define SBX_RUNTIME_MODULES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_RUNTIME_PAUSE_MIN_MS = 5,
    SBX_RUNTIME_PAUSE_MAX_MS = 500
};

/* Is STALLBOX_RUNTIMES=off? Then every runtime is left alone. Once, where the environment may be read (agent.h). */
void sbx_runtime_modules_look_at_environment(void);

/* Look for runtimes, when modules came or went, and ask those that were not up yet. Returns in how many milliseconds to call
 * it again; 0: when modules change. Module thread, outside of a visit. */
uint32_t sbx_runtime_modules_step(bool modules_changed);

#endif
