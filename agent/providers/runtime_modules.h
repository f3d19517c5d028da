/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_modules.h - providers in modules of their own: libstallbox-NAME.so, loaded when the program has that runtime.
 *
 * They lie in the folder stallbox/ beside our library. Each exports a function,
 *
 *     int stallbox_runtime_attach(char *why, size_t why_bytes);
 *
 * called on the module thread, inside a visit of the loader (loader_visit.h: it may call dlsym(), and must not wait).
 * It returns 1 when it has registered its provider; 0 for "not yet": then it is called again, at most
 * SBX_RUNTIME_PAUSE_MAX_MS later; -1 for "never": then `why` contains the reason in words. A module may also export
 *
 *     uint32_t stallbox_runtime_version(void);
 *
 * called on the same thread after that. It returns the runtime's version, major << 16 | minor; 0: unknown. In a program
 * without such a runtime the cost is a comparison of file names when its modules change. */
#ifndef SBX_RUNTIME_MODULES_H
#define SBX_RUNTIME_MODULES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_RUNTIME_PAUSE_MIN_MS = 5,
    SBX_RUNTIME_PAUSE_MAX_MS = 500
};

/* Is STALLBOX_RUNTIMES=off? Then every runtime is left alone. Called once, when the environment may be read
 * (agent.h). */
void sbx_runtime_modules_look_at_environment(void);

/* Look for runtimes when modules were loaded or unloaded, and call the providers that were not ready yet. Returns
 * the number of milliseconds after which it must be called again; 0: when modules change. Module thread, outside a
 * visit. */
uint32_t sbx_runtime_modules_step(bool modules_changed);

#endif
