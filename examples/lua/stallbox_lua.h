/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox_lua.h - tells Stallbox in which Lua functions a thread is. For PUC Lua 5.4; copy it into your program.
 *
 *     struct stallbox_lua *lua = stallbox_lua_attach(L);     after luaL_openlibs(), before scripts are loaded
 *     stallbox_lua_pcall(lua, L, 0, 0, 0);                   instead of lua_pcall() where your program enters Lua
 *     lua_close(L); stallbox_lua_free(lua);
 *
 * It makes three changes in the state. The allocator is called through one of ours. coroutine.resume and
 * coroutine.wrap are called through functions that note which coroutine runs. And for one instruction per sample of
 * a running thread there is a count hook, unless your program has a hook. docs/PROVIDERS.md says why each is needed
 * and what it costs. */
#ifndef STALLBOX_LUA_H
#define STALLBOX_LUA_H

#include <lua.h>
#include <stddef.h>
#include <stdio.h>

struct stallbox_lua;

/* Attach to a whole Lua state (main thread `L`). NULL if there is no memory, or the provider cannot be registered: the
 * other functions then do the same as Lua's own. Given: stallbox_lua_free(), after lua_close(). */
struct stallbox_lua *stallbox_lua_attach(lua_State *L);
void stallbox_lua_free(struct stallbox_lua *lua);

/* Like lua_pcall(), but known to the recorder. A program that enters Lua with lua_resume() must call
 * stallbox_lua_enter() and stallbox_lua_leave() around it. */
int stallbox_lua_pcall(struct stallbox_lua *lua, lua_State *L, int arguments, int results, int message_handler);

/* enter: `L` runs on the calling thread until leave. `run` belongs to the caller, and must be left before it is
 * freed. */
struct stallbox_lua_run {
    struct stallbox_lua *lua;
    lua_State *L;
    struct stallbox_lua_run *outer; /* the next outer run of the same state */
    struct stallbox_lua_run *below; /* the next outer run of the same thread, in any state */
    const void *caller; /* Lua's record of the call that entered; NULL: none, and the whole list is this run's */
};
void stallbox_lua_enter(struct stallbox_lua *lua, lua_State *L, struct stallbox_lua_run *run);
void stallbox_lua_leave(struct stallbox_lua *lua, struct stallbox_lua_run *run);

/* Write the names of a chunk's functions to `map`, a file "provider-lua.map" in a folder that is passed to `stallbox
 * report --symbols`. `chunk` is the chunk's name in Lua ("@app.lua"), `text` its source. This can be done at any time,
 * on any machine that has the source. Call stallbox_lua_begin_names() once before, with an empty file. */
void stallbox_lua_begin_names(FILE *map);
void stallbox_lua_write_names(FILE *map, const char *chunk, const char *text, size_t bytes);

#endif
