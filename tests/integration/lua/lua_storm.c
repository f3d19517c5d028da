/* SPDX-License-Identifier: Apache-2.0 */
/* lua_storm.c - no sample harms Lua: threads run code that moves Lua's stacks, sampled as often as possible. The host's
 * own signal handler makes recorded calls, wherever it has interrupted Lua.
 *
 * Each round of the script must give the same sum. A state that is read at the wrong moment may crash. */
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <stallbox/stallbox.h>

#include "stallbox_lua.h"

enum {
    THREADS = 3,
    SECONDS = 3
};

static const char script[] =
    "local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end\n"
    "local function endless(n) return 1 + endless(n + 1) end\n"
    "local function each(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end\n"
    "local function nested(n)\n"
    "  if n == 0 then return 1 end\n"
    "  local co = coroutine.create(function() return nested(n - 1) + 1 end)\n"
    "  local ok, value = coroutine.resume(co) assert(ok, value) return value\n"
    "end\n"
    "function round(turn)\n"
    "  local sum = deep(turn % 3000)\n"
    "  if turn % 50 == 25 then sum = sum + (pcall(endless, 0) and 1 or 0) end\n"
    "  for i in each(20) do sum = sum + i end\n"
    "  sum = sum + nested(8)\n"
    "  local parts = {}\n"
    "  for i = 1, 200 do parts[#parts + 1] = tostring(i) .. 'x' end\n"
    "  table.sort(parts, function(a, b) return a < b end)\n"
    "  sum = sum + #table.concat(parts);\n"
    "  ('abcabc'):gsub('b', function() sum = sum + 1 return error and nil end)\n"
    "  local ok = pcall(coroutine.wrap(function() error('thrown') end))\n"
    "  sum = sum + (ok and 1 or 0)\n"
    "  sum = sum + load('local t = setmetatable({}, {__index = function(_, k) return k end}) return t[7]')()\n"
    "  if turn % 100 == 50 then collectgarbage() end\n"
    "  return sum - turn % 3000\n"
    "end\n";

static atomic_int rounds, failures;
static int nothing;

static void on_alarm(int number)
{
    (void)number;
    int unused = (int)write(nothing, "x", 1); /* a capture point, at any instruction of Lua */
    (void)unused;
    poll(NULL, 0, 0); /* not longer than the timer, or the host would do nothing else */
}

static void *storm(void *unused)
{
    (void)unused;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    struct stallbox_lua *lua = stallbox_lua_attach(L);
    if (lua == NULL || luaL_dostring(L, script) != LUA_OK) {
        failures++;
        return NULL;
    }
    lua_Integer expected = 0;
    time_t end = time(NULL) + SECONDS;
    for (lua_Integer turn = 0; time(NULL) < end && failures == 0; turn++) {
        lua_getglobal(L, "round");
        lua_pushinteger(L, turn);
        if (stallbox_lua_pcall(lua, L, 1, 1, 0) != LUA_OK) {
            fprintf(stderr, "turn %lld: %s\n", (long long)turn, lua_tostring(L, -1));
            failures++;
        }
        expected = turn == 0 ? lua_tointeger(L, -1) : expected;
        if (lua_tointeger(L, -1) != expected) {
            fprintf(stderr, "turn %lld came to %lld\n", (long long)turn, (long long)lua_tointeger(L, -1));
            failures++;
        }
        lua_pop(L, 1);
        rounds++;
    }
    lua_close(L);
    stallbox_lua_free(lua);
    return NULL;
}

int main(void)
{
    char folder[] = "/tmp/stallbox-storm-XXXXXX", spool[64], command[64];
    pthread_t threads[THREADS];
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    snprintf(spool, sizeof spool, "%s/spool", folder);
    struct stallbox_options options = {.sizeof_options = sizeof options, .spool_path = spool, .interval_us = 1000};
    unsetenv("STALLBOX_DISABLE");
    if (stallbox_start(&options) != STALLBOX_OK) {
        fprintf(stderr, "no recorder\n");
        return 1;
    }
    signal(SIGALRM, on_alarm);
    const struct itimerval often = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, storm, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stallbox_read_counts(&counts);
    if (stallbox_snapshot(10000) != STALLBOX_OK) {
        failures++;
    }
    setitimer(ITIMER_REAL, &(const struct itimerval){{0, 0}, {0, 0}}, NULL);
    stallbox_stop(5000);
    printf("%d rounds, %llu samples by the threads, %llu by signal\n", (int)rounds,
           (unsigned long long)counts.captures_sync, (unsigned long long)counts.captures_async);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || failures != 0 || rounds == 0 || counts.captures_sync == 0;
}
