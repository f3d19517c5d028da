/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod_option.c - which debuginfod server a command asks for names. */
#include "debuginfod_option.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"

/* Make the folder, and those above it. */
static int make_folder(const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        size_t bytes = slash == NULL ? strlen(path) : (size_t)(slash - path);
        memcpy(part, path, bytes);
        part[bytes] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST) {
            return -errno;
        }
        if (slash == NULL) {
            return 0;
        }
    }
}

int sbx_debuginfod_option_use(const char *command, const char *url, struct sbx_debuginfod_option *option,
                              struct sbx_symbolizer *symbolizer)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (url == NULL) {
        return SBX_EXIT_DONE;
    }
    if (!sbx_debuginfod_is_url(url)) {
        return sbx_usage_error(command, "'%s' is no URL of a debuginfod server: http:// or https:// is wanted", url);
    }
    bool has_cache = cache != NULL && cache[0] == '/', has_home = home != NULL && home[0] == '/';
    int bytes = snprintf(option->cache_folder, sizeof option->cache_folder, "%s%s/stallbox/debuginfod",
                         has_cache  ? cache
                         : has_home ? home
                                    : "",
                         has_cache ? "" : "/.cache");
    if ((!has_cache && !has_home) || bytes < 0 || (size_t)bytes >= sizeof option->cache_folder) {
        return sbx_failure(command, "neither XDG_CACHE_HOME nor HOME says where to keep what --debuginfod fetches");
    }
    int result = make_folder(option->cache_folder);
    if (result != 0) {
        return sbx_failure(command, "%s: %s", option->cache_folder, strerror(-result));
    }
    option->server = (struct sbx_debuginfod){.url = url, .cache_folder = option->cache_folder};
    sbx_symbolizer_use_debuginfod(symbolizer, &option->server);
    return SBX_EXIT_DONE;
}

int sbx_debuginfod_option_tell(const char *command, struct sbx_symbolizer *symbolizer)
{
    const char *why = sbx_symbolizer_debuginfod_trouble(symbolizer);
    return why == NULL ? SBX_EXIT_DONE : sbx_failure(command, "%s", why);
}
