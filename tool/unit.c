/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c - `stallbox unit`: a systemd drop-in that records an existing service. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "run_environment.h"
#include "unit_plan.h"
#include "unit_search.h"

enum {
    OPTION_WRITE,
    OPTION_REMOVE,
    OPTION_ROOT,
    OPTION_SPOOL,
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_POLICY,
    OPTION_WAY,
    OPTION_LOOSEN,
    OPTION_COUNT
};

static const struct sbx_option option_table[OPTION_COUNT] = {
    [OPTION_WRITE] = {"--write", 'w', NULL, "install it, instead of printing it"},
    [OPTION_REMOVE] = {"--remove", 0, NULL, "take it away again"},
    [OPTION_ROOT] = {"--root", 0, "DIR", "read and write the units of the system below DIR"},
    [OPTION_SPOOL] = {"--spool", 's', "DIR",
                      "where the service keeps snapshots and payloads (default: a folder that systemd\n"
                      "makes for it, /var/lib/stallbox-spool/NAME)"},
    [OPTION_SERVER] = {"--server", 'u', "URL", "deliver payloads there, from within the service"},
    [OPTION_TOKEN_FILE] = {"--token-file", 't', "FILE",
                           "the secret of that server, in a file that the service can read"},
    [OPTION_POLICY] = {"--policy", 'p', "FILE", "the signed policy to obey"},
    [OPTION_WAY] = {"--way", 0, "WAY",
                    "run: by `stallbox run`; beside: by `stallbox run --beside`; preload: load the library\n"
                    "(default: the first that works with the unit)"},
    [OPTION_LOOSEN] = {"--loosen", 0, NULL, "change the settings of the unit that prevent recording"},
};

struct request {
    struct sbx_unit_wish wish;
    char name[256], command[PATH_MAX], library[PATH_MAX], root[PATH_MAX];
    const char *typed;
    bool writes, removes;
};

void sbx_usage_unit(FILE *out)
{
    fputs("usage: stallbox unit [OPTION]... NAME\n"
          "\n"
          "Print a systemd drop-in that records the service NAME, which is not changed otherwise. Its hardening is\n"
          "kept: settings that prevent recording are reported, and changed only with --loosen.\n"
          "\n",
          out);
    sbx_options_print(option_table, OPTION_COUNT, out);
    fputs("\nexample: stallbox unit nginx --write && systemctl daemon-reload && systemctl restart nginx\n", out);
}

static bool take_way(struct request *request, const char *word)
{
    request->wish.way = strcmp(word, "run") == 0       ? SBX_UNIT_RUN
                        : strcmp(word, "beside") == 0  ? SBX_UNIT_BESIDE
                        : strcmp(word, "preload") == 0 ? SBX_UNIT_PRELOAD
                                                       : SBX_UNIT_ANY;
    if (request->wish.way == SBX_UNIT_ANY) {
        sbx_usage_error("unit", "--way '%s': it is run, beside or preload", word);
    }
    return request->wish.way != SBX_UNIT_ANY;
}

static bool take(struct request *request, const struct sbx_option_reader *reader, int option)
{
    switch (option) {
    case OPTION_WRITE:
        request->writes = true;
        return true;
    case OPTION_REMOVE:
        request->removes = true;
        return true;
    case OPTION_ROOT:
        if (realpath(reader->value, request->root) == NULL) {
            sbx_usage_error("unit", "--root %s: %s", reader->value, strerror(errno));
            return false;
        }
        request->root[strcmp(request->root, "/") == 0 ? 0 : strlen(request->root)] = '\0';
        return true;
    case OPTION_SPOOL:
        request->wish.spool = reader->value;
        return true;
    case OPTION_SERVER:
        request->wish.server = reader->value;
        return sbx_option_is_server("unit", reader->value);
    case OPTION_TOKEN_FILE:
        request->wish.token_file = reader->value;
        return true;
    case OPTION_POLICY:
        request->wish.policy = reader->value;
        return true;
    case OPTION_WAY:
        return take_way(request, reader->value);
    default:
        request->wish.loosens = true;
        return true;
    }
}

/* The paths go into a file of systemd. They must be absolute, and must not break its lines. */
static bool are_paths(const struct sbx_unit_wish *wish)
{
    const char *const paths[] = {wish->spool, wish->token_file, wish->policy};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (paths[i] != NULL &&
            (paths[i][0] != '/' || strlen(paths[i]) > 200 || strpbrk(paths[i], "\n\r\"\\") != NULL)) {
            sbx_usage_error("unit", "'%s' is no absolute path without quotes", paths[i]);
            return false;
        }
    }
    if (wish->server != NULL && strpbrk(wish->server, " \t\n\r\"\\") != NULL) {
        sbx_usage_error("unit", "'%s' is no URL", wish->server);
        return false;
    }
    return true;
}

static int read_request(struct request *request, int argc, char **argv)
{
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "unit", option_table, OPTION_COUNT, argc, argv);
    for (int option; (option = sbx_option_next(&reader)) != SBX_OPTION_END;) {
        if (option == SBX_OPTION_HELP) {
            sbx_usage_unit(stdout);
            return -1;
        }
        if (option == SBX_OPTION_BAD) {
            return SBX_EXIT_USAGE;
        }
        if (option == SBX_OPTION_OPERAND && request->typed != NULL) {
            return sbx_usage_error("unit", "one service at a time, but got '%s' too", reader.value);
        }
        if (option == SBX_OPTION_OPERAND) {
            request->typed = reader.value;
        } else if (!take(request, &reader, option)) {
            return SBX_EXIT_USAGE;
        }
    }
    if (request->typed == NULL) {
        return sbx_usage_error("unit", "which service? For example: stallbox unit nginx");
    }
    if (!sbx_unit_name(request->typed, request->name)) {
        return sbx_usage_error("unit", "'%s' is no name of a service", request->typed);
    }
    if (request->writes && request->removes) {
        return sbx_usage_error("unit", "--write and --remove exclude each other");
    }
    return are_paths(&request->wish) ? 0 : SBX_EXIT_USAGE;
}

/* ---- its place ---- */

static bool place_of(const struct request *request, char folder_out[PATH_MAX], char path_out[PATH_MAX])
{
    int length = snprintf(folder_out, PATH_MAX, "%s/etc/systemd/system/%s.service.d", request->root, request->name);
    return length < PATH_MAX && snprintf(path_out, PATH_MAX, "%s/" SBX_UNIT_DROP_IN, folder_out) < PATH_MAX;
}

/* Did we write this file? A file of that name by others is not touched. Returns 1, 0, or -errno. */
static int is_ours(const char *path)
{
    static const char first[] = "# Made by `stallbox unit";
    char text[sizeof first - 1];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return -errno;
    }
    ssize_t got = read(file, text, sizeof text);
    close(file);
    return got == (ssize_t)sizeof text && memcmp(text, first, sizeof text) == 0;
}

static int make_folders(const char *folder, const char *root)
{
    char path[PATH_MAX];
    size_t from = strlen(root) + 1;
    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST) {
            return -errno;
        }
        *slash = '/';
    }
    return mkdir(path, 0755) != 0 && errno != EEXIST ? -errno : 0;
}

static int write_whole(const char *path, const char *text)
{
    char aside[PATH_MAX + 8];
    size_t bytes = strlen(text), written = 0;
    snprintf(aside, sizeof aside, "%s.new", path);
    if (unlink(aside) != 0 && errno != ENOENT) {
        return -errno;
    }
    int file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644), result = 0;
    if (file < 0) {
        return -errno;
    }
    while (written < bytes && result == 0) {
        ssize_t got = write(file, text + written, bytes - written);
        result = got > 0 || errno == EINTR ? 0 : got == 0 ? -EIO : -errno;
        written += got > 0 ? (size_t)got : 0;
    }
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    close(file);
    if (result == 0 && rename(aside, path) != 0) {
        result = -errno;
    }
    if (result != 0) {
        unlink(aside);
    }
    return result;
}

static void tell_next(const struct request *request)
{
    if (request->root[0] == '\0') {
        fprintf(stderr, "stallbox unit: to apply it: systemctl daemon-reload && systemctl restart %s\n", request->name);
    }
}

static int install(const struct request *request, const char *text)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!place_of(request, folder, path)) {
        return sbx_failure("unit", "%s: %s", request->root, strerror(ENAMETOOLONG));
    }
    int there = is_ours(path);
    if (there == 0 || (there < 0 && there != -ENOENT)) {
        return sbx_failure("unit", "%s: %s", path,
                           there == 0 ? "is not of `stallbox unit`, and is left as it is" : strerror(-there));
    }
    int result = make_folders(folder, request->root);
    if (result == 0) {
        result = write_whole(path, text);
    }
    if (result != 0) {
        return sbx_failure("unit", "%s: %s", path, strerror(-result));
    }
    fprintf(stderr, "stallbox unit: wrote %s\n", path);
    tell_next(request);
    return SBX_EXIT_DONE;
}

static int uninstall(const struct request *request)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!place_of(request, folder, path)) {
        return sbx_failure("unit", "%s: %s", request->root, strerror(ENAMETOOLONG));
    }
    int there = is_ours(path);
    if (there == -ENOENT) {
        return sbx_failure("unit", "%s: there is none", path);
    }
    if (there <= 0 || unlink(path) != 0) {
        return sbx_failure("unit", "%s: %s", path,
                           there == 0 ? "is not of `stallbox unit`, and is left as it is" : strerror(errno));
    }
    (void)rmdir(folder); /* fails when others have files there */
    fprintf(stderr, "stallbox unit: removed %s\n", path);
    tell_next(request);
    return SBX_EXIT_DONE;
}

/* ---- what goes into it ---- */

/* Find the library by the name that stays over an upgrade: libstallbox.so.0 next to libstallbox.so.0.1.0. */
static bool find_programs(struct request *request)
{
    ssize_t length = readlink("/proc/self/exe", request->command, sizeof request->command - 1);
    if (length <= 0 || !sbx_run_find_library(request->library)) {
        return false;
    }
    request->command[length] = '\0';
    char *version = strstr(request->library, ".so.0");
    if (version != NULL && version[5] == '.') {
        char kept = version[5];
        version[5] = '\0';
        if (access(request->library, R_OK) != 0) {
            version[5] = kept;
        }
    }
    return strpbrk(request->library, " \t:%$\"\\") == NULL && strpbrk(request->command, " \t%$\"\\") == NULL;
}

static void tell_obstacles(const struct request *request, const struct sbx_unit_plan *plan)
{
    for (const char *at = plan->obstacles; *at != '\0';) {
        int length = (int)strcspn(at, "\n");
        fprintf(stderr, "stallbox unit: %s: %.*s\n", request->name, length, at);
        at += length + (at[length] == '\n');
    }
}

static int print(struct request *request)
{
    struct sbx_unit_file unit;
    struct sbx_unit_plan plan;
    char why[PATH_MAX + 512] = "";
    if (!find_programs(request)) {
        return sbx_failure(
            "unit", "libstallbox.so is not beside this program, or its path has characters that systemd would read");
    }
    int result = sbx_unit_read(request->root, request->name, &unit, why, sizeof why);
    if (result != 0) {
        return sbx_failure("unit", "%s", why[0] != '\0' ? why : strerror(-result));
    }
    request->wish.name = request->name;
    request->wish.root = request->root;
    request->wish.command = request->command;
    request->wish.library = request->library;
    request->wish.expand = sbx_unit_expand_by_systemd;
    request->wish.has_socket = sbx_unit_has_socket(request->root, request->name);
    result = sbx_unit_plan_make(&unit, &request->wish, &plan);
    sbx_unit_file_free(&unit);
    if (result != 0) {
        return sbx_failure("unit", "%s", strerror(-result));
    }
    tell_obstacles(request, &plan);
    int status = SBX_EXIT_DONE;
    if (plan.drop_in == NULL) {
        status = sbx_failure("unit", "%s is not recorded as it is; nothing was changed", request->name);
    } else if (request->writes) {
        status = install(request, plan.drop_in);
    } else {
        fputs(plan.drop_in, stdout);
        status = fflush(stdout) == 0 ? SBX_EXIT_DONE : sbx_failure("unit", "%s", strerror(errno));
    }
    sbx_unit_plan_free(&plan);
    return status;
}

int sbx_command_unit(int argc, char **argv)
{
    static struct request request;
    int status = read_request(&request, argc, argv);
    if (status != 0) {
        return status < 0 ? SBX_EXIT_DONE : status;
    }
    return request.removes ? uninstall(&request) : print(&request);
}
