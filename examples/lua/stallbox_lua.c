/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox_lua.c - tells Stallbox in which Lua functions a thread is.
 *
 * All functions that can be on a stack begin with stallbox_lua_: reports never blame such functions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "stallbox_lua.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stallbox/stallbox.h>

enum {
    LEVELS_MAX = 256
}; /* lua_getstack() counts from the leaf each time: deeper stacks end in a function 0 */

struct stallbox_lua {
    struct stallbox_lua_run *run; /* the innermost run: which lua_State runs */
    volatile bool is_closed;      /* Lua's stack may be half moved: see stallbox_lua_allocate() */
    lua_Alloc allocate;
    void *allocate_data;
};

static struct stallbox_provider *provider;
static __thread struct stallbox_lua_run *running; /* of the calling thread, in any state */
static const char key;                            /* its address is the key of our entry in a state's registry */

/* ---- walking the stack ---- */

/* The id of a function. A chunk that was loaded from a string has its whole text as its name, so the short name is
 * used. */
static uint64_t id_of(const lua_Debug *at)
{
    bool has_name = at->source[0] == '@' || at->source[0] == '=';
    const char *name = has_name ? at->source + 1 : at->short_src;
    return stallbox_function_id(name, strlen(name), (uint32_t)at->linedefined, NULL);
}

/* The level where the calls of `run` begin in its state's list, counted from the leaf: after the calls of inner runs on
 * the same state. */
static int first_level(const struct stallbox_lua_run *innermost, const struct stallbox_lua_run *run)
{
    const struct stallbox_lua_run *inside = NULL;
    lua_Debug at;
    for (const struct stallbox_lua_run *each = innermost; each != run; each = each->below) {
        inside = each->L == run->L ? each : inside;
    }
    for (int level = 0; inside != NULL && inside->caller != NULL; level++) {
        if (level > LEVELS_MAX || lua_getstack(run->L, level, &at) == 0) {
            return LEVELS_MAX + 1;
        }
        if (at.i_ci == inside->caller) {
            return level;
        }
    }
    return inside != NULL ? LEVELS_MAX + 1 : 0; /* an inner run has reported the whole list */
}

/* lua_getstack() follows the list of calls, and lua_getinfo() with "S" and "l" copies a few fields of the function.
 * Neither changes the state, allocates, or raises an error. C functions are on the native stack already. The outermost
 * function of each run is marked as a border: a reader puts the run at that native call into Lua. */
static size_t walk(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                   uint32_t *lines, size_t max)
{
    const struct stallbox_lua_run *innermost = context;
    size_t count = 0;
    (void)interrupted; /* always NULL: the provider is not registered as signal-safe */
    for (const struct stallbox_lua_run *run = innermost; run != NULL; run = run->below) {
        if (run->lua->is_closed) {
            return STALLBOX_PROVIDER_NOT_NOW;
        }
    }
    for (const struct stallbox_lua_run *run = innermost; run != NULL; run = run->below) {
        lua_Debug at;
        size_t before = count;
        for (int level = first_level(innermost, run); level <= LEVELS_MAX && lua_getstack(run->L, level, &at);
             level++) {
            if (run->caller != NULL && at.i_ci == run->caller) {
                break;
            }
            bool is_last = level == LEVELS_MAX;
            lua_getinfo(run->L, "Sl", &at);
            if (at.what[0] == 'C' && !is_last) {
                continue;
            }
            if (count >= first && count - first < max) {
                functions[count - first] = is_last ? 0 : id_of(&at);
                lines[count - first] = is_last || at.currentline < 0 ? 0 : (uint32_t)at.currentline;
            }
            count++;
        }
        if (count > before && count > first && count - 1 - first < max) {
            lines[count - 1 - first] |= STALLBOX_PROVIDER_BORDER;
        }
    }
    return count;
}

/* ---- safepoints ---- */

static struct stallbox_lua *find(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key);
    struct stallbox_lua *lua = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return lua;
}

/* Called between two instructions, once, because `want` has set the hook. */
static void stallbox_lua_safepoint(lua_State *L, lua_Debug *event)
{
    (void)event;
    lua_sethook(L, NULL, 0, 0);
    struct stallbox_lua *lua = find(L);
    if (lua->run != NULL && lua->run->L == L) { /* else a coroutine that the program resumed by itself */
        stallbox_provider_poll();
    }
}

/* Called in a signal handler: Lua documents that lua_sethook() may be called there, and lua.c itself does so. */
static void want(void *context)
{
    const struct stallbox_lua_run *run = context;
    if (lua_gethook(run->L) == NULL) {
        lua_sethook(run->L, stallbox_lua_safepoint, LUA_MASKCOUNT, 1);
    }
}

/* ---- which state runs ---- */

void stallbox_lua_enter(struct stallbox_lua *lua, lua_State *L, struct stallbox_lua_run *run)
{
    if (lua != NULL) {
        lua_Debug at;
        *run = (struct stallbox_lua_run){.lua = lua, .L = L, .outer = lua->run, .below = running};
        /* A coroutine that yielded continues where it was: its whole list runs. */
        if (lua_status(L) != LUA_YIELD && lua_getstack(L, 0, &at) != 0) {
            run->caller = at.i_ci;
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* complete before a signal handler reads it */
        lua->run = running = run;
        (void)stallbox_provider_enter(provider, run);
    }
}

void stallbox_lua_leave(struct stallbox_lua *lua, struct stallbox_lua_run *run)
{
    if (lua != NULL) {
        stallbox_provider_leave(provider, run->below);
        lua->run = run->outer;
        running = run->below;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
}

int stallbox_lua_pcall(struct stallbox_lua *lua, lua_State *L, int arguments, int results, int message_handler)
{
    struct stallbox_lua_run run;
    stallbox_lua_enter(lua, L, &run);
    int status = lua_pcall(L, arguments, results, message_handler);
    stallbox_lua_leave(lua, &run);
    return status;
}

/* Calls the function in upvalue 1 with all arguments, while coroutine `co` runs. */
static int stallbox_lua_call(lua_State *L, lua_State *co)
{
    struct stallbox_lua *lua = find(L);
    struct stallbox_lua_run run;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    stallbox_lua_enter(lua, co != NULL ? co : L, &run);
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0); /* protected, so that the run is left in any case */
    stallbox_lua_leave(lua, &run);
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static int stallbox_lua_resume(lua_State *L)
{
    return stallbox_lua_call(L, lua_tothread(L, 1));
}

static int stallbox_lua_call_wrapped(lua_State *L)
{
    return stallbox_lua_call(L, lua_tothread(L, lua_upvalueindex(2)));
}

/* The result of coroutine.wrap() is a C function with the coroutine as its upvalue. */
static int stallbox_lua_wrap(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    if (lua_getupvalue(L, -1, 1) == NULL) {
        return 1;
    }
    lua_pushcclosure(L, stallbox_lua_call_wrapped, 2);
    return 1;
}

static void replace(lua_State *L, const char *name, lua_CFunction function)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

/* ---- attaching ---- */

/* While Lua moves its stack, pointers into it are stale or, since 5.4.6, not pointers at all. So the stack is not
 * walked inside Lua's allocator. */
static void *stallbox_lua_allocate(void *data, void *block, size_t old_bytes, size_t new_bytes)
{
    struct stallbox_lua *lua = data;
    lua->is_closed = true;
    void *result = lua->allocate(lua->allocate_data, block, old_bytes, new_bytes);
    lua->is_closed = false;
    return result;
}

static void register_provider(void)
{
    struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                .name = "lua",
                                                .walk_at = walk,
                                                .want = want,
                                                .flags = STALLBOX_PROVIDER_SAFEPOINTS};
    Dl_info here, there;
    void *interpreter = dlsym(RTLD_DEFAULT, "lua_pcallk");
    if (interpreter != NULL && dladdr(interpreter, &there) != 0 && dladdr((const void *)&key, &here) != 0 &&
        here.dli_fbase != there.dli_fbase) {
        options.code = interpreter; /* a library of its own: all its code is the interpreter */
    }
    (void)stallbox_provider_register(&options, &provider);
}

struct stallbox_lua *stallbox_lua_attach(lua_State *L)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_provider);
    struct stallbox_lua *lua = provider != NULL ? calloc(1, sizeof *lua) : NULL;
    if (lua == NULL) {
        return NULL;
    }
    lua_pushlightuserdata(L, lua);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    if (lua_getglobal(L, "coroutine") == LUA_TTABLE) {
        replace(L, "resume", stallbox_lua_resume);
        replace(L, "wrap", stallbox_lua_wrap);
    }
    lua_pop(L, 1);
    lua->allocate = lua_getallocf(L, &lua->allocate_data);
    lua_setallocf(L, stallbox_lua_allocate, lua);
    return lua;
}

void stallbox_lua_free(struct stallbox_lua *lua)
{
    free(lua);
}
