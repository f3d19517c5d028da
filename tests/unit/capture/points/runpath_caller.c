/* SPDX-License-Identifier: Apache-2.0 */
/* runpath_caller.c - a module with a DT_RUNPATH that loads plugins. */
#include <dlfcn.h>

void *load_as_caller(const char *name);

void *load_as_caller(const char *name)
{
    void *volatile plugin = dlopen(name, RTLD_NOW); /* volatile: no tail call, the caller is this module */
    return plugin;
}
