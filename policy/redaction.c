/* SPDX-License-Identifier: Apache-2.0 */
/* redaction.c - which modules keep their identity.
 *
 * A build-id names a file exactly, so the set of build-ids of a process is a fingerprint of its machine and of what its
 * user has installed. Therefore an allow-list decides: it contains the application itself and the modules of a
 * distribution. The decision uses only flags and the path's text, never the file system, because the payload of a
 * killed process must be the same as that of a living one. */
#include "redaction.h"

#include <string.h>

#include "name_tables.h"

/* Folders that belong to no single application: if an executable lies directly in one of them, its neighbours are not
 * part of the application. */
/* clang-format off */
static const char *const shared_folders[] = {
    "/",         "/bin",     "/sbin",          "/lib",            "/lib64",        "/usr",
    "/usr/bin",  "/usr/sbin", "/usr/lib",      "/usr/lib64",      "/usr/local",    "/usr/local/bin",
    "/usr/local/sbin", "/usr/local/lib", "/usr/games", "/usr/libexec", "/opt",     "/home",
    "/root",     "/tmp",     "/var",           "/var/tmp",        "/srv",          "/mnt",
    "/media",    "/run",     "/dev/shm",       "/snap",           "/app",          "/app/bin",
};
/* clang-format on */

/* Where distributions install libraries. */
static const char *const library_folders[] = {"/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/lib/", "/lib64/", "/lib32/"};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Is it an absolute path without "." and ".." steps? Only the beginning of such a path tells in which folder the file
 * lies. */
static bool is_plain_path(const char *path)
{
    return path[0] == '/' && strstr(path, "/../") == NULL && strstr(path, "/./") == NULL && strstr(path, "//") == NULL;
}

static bool is_shared_folder(const char *path, size_t length)
{
    for (size_t i = 0; i < sizeof shared_folders / sizeof shared_folders[0]; i++) {
        if (strlen(shared_folders[i]) == length && memcmp(shared_folders[i], path, length) == 0) {
            return true;
        }
    }
    /* /home/NAME: files at the top of a home folder are not one application either. */
    return starts_with(path, "/home/") && memchr(path + 6, '/', length - 6) == NULL;
}

/* Is `path` in the folder of the executable or below it? */
static bool is_in_folder_of(const char *executable_path, const char *path)
{
    if (!is_plain_path(executable_path)) {
        return false;
    }
    size_t folder = (size_t)(strrchr(executable_path, '/') - executable_path);
    if (folder == 0 || is_shared_folder(executable_path, folder)) {
        return false;
    }
    return strncmp(path, executable_path, folder) == 0 && path[folder] == '/';
}

static bool is_in_library_folder(const char *path)
{
    for (size_t i = 0; i < sizeof library_folders / sizeof library_folders[0]; i++) {
        if (starts_with(path, library_folders[i])) {
            return true;
        }
    }
    return false;
}

enum sbx_module_verdict sbx_redact_module(const struct sbx_redaction *redaction, const struct sbx_module_entry *module,
                                          const char *executable_path)
{
    if (module->flags & SBX_MODULE_MAIN) {
        return SBX_KEEP_APP;
    }
    if (module->flags & SBX_MODULE_VDSO) {
        return SBX_KEEP_VDSO;
    }
    if (module->flags & SBX_MODULE_AGENT) {
        return SBX_KEEP_AGENT;
    }
    const char *path = module->path;
    if (memchr(path, '\0', sizeof module->path) == NULL || !is_plain_path(path)) {
        return SBX_HIDE;
    }
    if (is_in_folder_of(executable_path, path)) {
        return SBX_KEEP_APP;
    }
    if (!is_in_library_folder(path)) {
        return SBX_HIDE;
    }
    switch (redaction->module_rule) {
    case SBX_MODULES_DISTRIBUTION:
        return SBX_KEEP_SYSTEM;
    case SBX_MODULES_APP_ONLY:
        return sbx_system_module_index(strrchr(path, '/') + 1) != 0 ? SBX_KEEP_SYSTEM : SBX_HIDE;
    }
    return SBX_HIDE; /* unknown rule of a later policy: fail closed */
}
