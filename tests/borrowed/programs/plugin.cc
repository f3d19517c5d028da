/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.cc - the module of plugins.cc: a constructor, thread-local memory, and hooked calls. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

static thread_local std::string mine = "a string too long to lie in the object itself, so it is allocated";
static void *block;

__attribute__((constructor)) static void begin()
{
    block = malloc(1000);
}
__attribute__((destructor)) static void end()
{
    free(block);
}

extern "C" int plugin_answer(int number)
{
    mine += 'x';
    struct timespec moment = {0, 1000};
    nanosleep(&moment, nullptr);
    void *volatile other = malloc(static_cast<size_t>(number) + 1);
    free(other);
    return number * 2 + (mine.size() > 60);
}

extern "C" void plugin_refuse()
{
    std::string text(200, 'z');
    throw std::runtime_error(text);
}
