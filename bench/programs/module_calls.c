/* SPDX-License-Identifier: Apache-2.0 */
/* module_calls.c - a program with many modules, in which each request runs through eight of them.
 *
 * usage: module_calls FOLDER COUNT
 * Loads FOLDER/0.so to FOLDER/COUNT-1.so, copies of one_module.c. Each request begins one module after the previous
 * one. Prints a line for each 64 requests, until the output is closed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MODULES_MAX = 4000,
    DEEP = 8,
    REQUESTS_A_LINE = 64,
};

typedef uint64_t module_function(void *const *next, int deep);

static void *parts[MODULES_MAX + DEEP];
static volatile uint64_t sink;

int main(int count, char **arguments)
{
    size_t modules = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    if (modules == 0 || modules > MODULES_MAX) {
        fprintf(stderr, "usage: module_calls FOLDER COUNT\n");
        return 2;
    }
    for (size_t i = 0; i < modules; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%zu.so", arguments[1], i);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        parts[i] = module != NULL ? dlsym(module, "serve_part") : NULL;
        if (parts[i] == NULL) {
            fprintf(stderr, "module_calls: %s\n", dlerror());
            return 1;
        }
    }
    for (size_t i = 0; i < DEEP; i++) {
        parts[modules + i] = parts[i % modules];
    }
    for (uint64_t request = 0;; request++) {
        void *const *first = &parts[request % modules];
        module_function *function;
        memcpy(&function, first, sizeof function);
        sink += function(first + 1, DEEP);
        if (request % REQUESTS_A_LINE == 0 && write(STDOUT_FILENO, "\n", 1) != 1) {
            return 0;
        }
    }
}
