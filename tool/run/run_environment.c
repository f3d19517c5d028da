/* SPDX-License-Identifier: Apache-2.0 */
/* run_environment.c - LD_PRELOAD, and the orders as text. */
#include "run_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "preload.h"
#include "recording_format.h"
#include "steered_agents.h"

extern char **environ;

/* The library is next to this command: in the build tree, or where `cmake --install` put both. */
bool sbx_run_find_library(char path_out[PATH_MAX])
{
    static const char *const places[] = {"../agent/libstallbox.so", "../" STALLBOX_LIBRARY_FOLDER "/libstallbox.so.0"};
    const char *given = getenv("STALLBOX_LIBRARY");
    if (given != NULL && given[0] != '\0') {
        return realpath(given, path_out) != NULL;
    }
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) {
        return false;
    }
    own[length] = 0;
    char *slash = strrchr(own, '/');
    if (slash == NULL) {
        return false;
    }
    slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char candidate[2 * PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s%s", own, places[i]);
        if (realpath(candidate, path_out) != NULL) {
            return true;
        }
    }
    return false;
}

char *sbx_run_find_program(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/') != NULL) {
        return strdup(name);
    }
    for (const char *at = path != NULL ? path : "/bin:/usr/bin"; *at != '\0';) {
        size_t length = strcspn(at, ":");
        char *candidate;
        if (asprintf(&candidate, "%.*s/%s", (int)length, at, name) < 0) {
            return NULL;
        }
        if (access(candidate, X_OK) == 0) {
            return candidate;
        }
        free(candidate);
        at += length + (at[length] == ':');
    }
    return NULL;
}

/* Is it a variable that we set for the program? Those of an outer `stallbox run` are not passed on. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"LD_PRELOAD=",     SBX_ENV_COMPANION "=",  SBX_ENV_AUTOSTART "=",
                                        SBX_ENV_SPOOL "=", SBX_ENV_RECORDINGS "=", SBX_ENV_ORDERS "="};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

char **sbx_run_environment(const struct sbx_run_world *world)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = calloc(count + 8, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    const char *preloaded = getenv("LD_PRELOAD");
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_ours(environ[i]) && strncmp(environ[i], "ASAN_OPTIONS=", 13) != 0) {
            made[used++] = environ[i];
        }
    }
    bool is_first = preloaded == NULL || preloaded[0] == 0;
    struct sbx_preload_orders orders = {
        .layout_hash = sbx_layout_hash(), .companion_key = world->key, .roster = world->roster};
    char orders_text[SBX_ORDERS_TEXT_BYTES];
    snprintf(orders.app_name, sizeof orders.app_name, "%s", world->app_name != NULL ? world->app_name : "");
    memcpy(orders.app_version, world->app_version, sizeof orders.app_version);
    sbx_policy_settings(world->policy, &orders.settings);
    sbx_orders_print(&orders, orders_text);
    /* The run-time of the address sanitizer, when it is a shared library, ends a program in which another library is
     * loaded first, because that library's functions could replace its own. Ours replaces none of them. */
    const char *sanitizer = getenv("ASAN_OPTIONS");
    bool is_alone = sanitizer == NULL || sanitizer[0] == 0;
    char *texts[7] = {NULL};
    if (asprintf(&texts[0], "LD_PRELOAD=%s%s%s", world->library, is_first ? "" : ":", is_first ? "" : preloaded) < 0 ||
        asprintf(&texts[1], SBX_ENV_AUTOSTART "=%*s", SBX_CHILD_DIGITS, "") < 0 ||
        asprintf(&texts[2], SBX_ENV_SPOOL "=%s", world->spool) < 0 ||
        asprintf(&texts[3], SBX_ENV_RECORDINGS "=%s", world->recordings) < 0 ||
        asprintf(&texts[4], SBX_ENV_ORDERS "=%s", orders_text) < 0 ||
        asprintf(&texts[6], "ASAN_OPTIONS=%s%sverify_asan_link_order=0", is_alone ? "" : sanitizer,
                 is_alone ? "" : ":") < 0 ||
        (world->mark == NULL && asprintf(&texts[5], SBX_ENV_COMPANION "=%d-0", (int)getpid()) < 0)) {
        free(made);
        return NULL; /* out of memory before anything ran; this small leak does not matter */
    }
    for (size_t i = 0; i < 5; i++) {
        made[used++] = texts[i];
    }
    made[used++] = texts[6];
    /* Set with or without a policy, so that a companion that steers the other users of this spool leaves the program to
     * us. */
    made[used++] = world->mark != NULL ? (char *)(uintptr_t)world->mark : texts[5]; /* as execve() wants it */
    return made;
}
