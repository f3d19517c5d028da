/* SPDX-License-Identifier: Apache-2.0 */
/* lua_provider.c - an event loop that runs a Lua script, with reports that name the script's functions.
 *
 *     stallbox run --spool spool -- ./lua_provider stall.lua compute symbols
 *     stallbox report --symbols symbols spool
 *
 * Calls the global function that the second argument names, after half a second of idle loop. The third argument is the
 * folder for names. */
#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stallbox/stallbox.h>

#include "lua/stallbox_lua.h"

static int sleep_ms(lua_State *L)
{
    lua_Integer ms = luaL_checkinteger(L, 1);
    return nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}, NULL);
}

/* A Lua state with all libraries and our functions, known to the recorder. The script is loaded in it if the function
 * returns LUA_OK. */
struct interpreter {
    lua_State *L;
    struct stallbox_lua *lua;
};

static int open_interpreter(struct interpreter *interpreter, const char *text, size_t bytes)
{
    lua_State *L = interpreter->L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "sleep_ms", sleep_ms);
    interpreter->lua = stallbox_lua_attach(L);
    /* The name of a chunk is part of its functions' ids, so it must be the same on every machine. */
    return luaL_loadbuffer(L, text, bytes, "@stall.lua") || stallbox_lua_pcall(interpreter->lua, L, 0, 0, 0);
}

static void close_interpreter(struct interpreter *interpreter)
{
    lua_close(interpreter->L);
    stallbox_lua_free(interpreter->lua);
}

/* Calls the function named by the first argument in another state, like a program with a state for each plug-in. */
static int in_plugin(lua_State *L)
{
    struct interpreter *plugin = lua_touserdata(L, lua_upvalueindex(1));
    lua_getglobal(plugin->L, luaL_checkstring(L, 1));
    if (stallbox_lua_pcall(plugin->lua, plugin->L, 0, 0, 0) != LUA_OK) {
        return luaL_error(L, "%s", lua_tostring(plugin->L, -1));
    }
    return 0;
}

static char *read_whole(const char *path, size_t *bytes_out)
{
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 1 << 20);
    *bytes_out = file != NULL && text != NULL ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

static void write_names(const char *folder, const char *text, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/provider-lua.map", folder);
    FILE *map = fopen(path, "we");
    if (map != NULL) {
        stallbox_lua_begin_names(map);
        stallbox_lua_write_names(map, "@stall.lua", text, bytes);
        fclose(map);
    }
}

int main(int argc, char **argv)
{
    size_t bytes = 0;
    char *text = argc == 4 ? read_whole(argv[1], &bytes) : NULL;
    if (bytes == 0) {
        fprintf(stderr, "usage: lua_provider SCRIPT FUNCTION NAMES-FOLDER\n");
        return 2;
    }
    write_names(argv[3], text, bytes);
    stallbox_start(NULL);
    struct interpreter host, plugin;
    int status = open_interpreter(&plugin, text, bytes) || open_interpreter(&host, text, bytes);
    lua_State *L = host.L;
    lua_pushlightuserdata(L, &plugin);
    lua_pushcclosure(L, in_plugin, 1);
    lua_setglobal(L, "in_plugin");
    lua_pushlightuserdata(L, &host); /* back into the calling state */
    lua_pushcclosure(L, in_plugin, 1);
    lua_setglobal(L, "again");
    for (int turn = 0; turn < 50 && status == LUA_OK; turn++) {
        poll(NULL, 0, 20);
        if (turn == 25) {
            lua_getglobal(L, argv[2]);
            status = stallbox_lua_pcall(host.lua, L, 0, 0, 0); /* a slow message, reported when it ends */
        }
    }
    if (status != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    }
    close_interpreter(&host);
    close_interpreter(&plugin);
    stallbox_stop(10000); /* waits at most so long if a snapshot is being written */
    free(text);
    return status != LUA_OK;
}
