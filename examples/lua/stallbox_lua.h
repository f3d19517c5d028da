/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox_lua.h - tells Stallbox which Lua functions a thread is in. For PUC Lua 5.4; copy it into your program.
 *
 *     struct stallbox_lua *lua = stallbox_lua_attach(L);     after luaL_openlibs(), before scripts are loaded
 *     stallbox_lua_pcall(lua, L, 0, 0, 0);                   instead of lua_pcall() where your program enters Lua
 *     lua_close(L); stallbox_lua_free(lua);
 *
 * What it changes in the state: the allocator is called through one of ours, coroutine.resume and coroutine.wrap through
 * functions that note which coroutine runs, and for one instruction per sample of a running thread there is a count hook,
 * if your program has none. docs/PROVIDERS.md says why each is needed and what it costs. */
#ifndef STALLBOX_LUA_H
#define STALLBOX_LUA_H

#include <lua.h>
#include <stddef.h>
#include <stdio.h>

struct stallbox_lua;

/* Attach to a whole Lua state (main thread `L`). NULL without memory, or when the provider cannot be registered: the other
 * functions then do what Lua's own do. Given: stallbox_lua_free(), after lua_close(). */
struct stallbox_lua *stallbox_lua_attach(lua_State *L);
void stallbox_lua_free(struct stallbox_lua *lua);

/* lua_pcall(), known to the recorder. A program that enters with lua_resume() does the same around it with
 * stallbox_lua_enter() and stallbox_lua_leave(). */
int stallbox_lua_pcall(struct stallbox_lua *lua, lua_State *L, int arguments, int results, int message_handler);

/* `L` runs on the calling thread, until it is left. `run` is the caller's, and must be left before it goes. */
struct stallbox_lua_run {
    struct stallbox_lua *lua;
    lua_State *L;
    struct stallbox_lua_run *outer; /* of the same state, further out */
    struct stallbox_lua_run *below; /* of the same thread, in any state */
    const void *caller; /* Lua's note of the call that entered; NULL: none, and all of the list is the run's */
};
void stallbox_lua_enter(struct stallbox_lua *lua, lua_State *L, struct stallbox_lua_run *run);
void stallbox_lua_leave(struct stallbox_lua *lua, struct stallbox_lua_run *run);

/* Write what the functions of a chunk are called to `map`, a file "provider-lua.map" in a folder that `stallbox report
 * --symbols` is given. `chunk`: its name as Lua has it ("@app.lua"), `text`: its source. At any time, on any machine that has
 * the source; stallbox_lua_begin_names() once before, in an empty file. */
void stallbox_lua_begin_names(FILE *map);
void stallbox_lua_write_names(FILE *map, const char *chunk, const char *text, size_t bytes);

#endif
