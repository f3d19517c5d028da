// SPDX-License-Identifier: Apache-2.0
// nasty_plugin.cc - a plugin that allocates, sleeps, has thread-local state, and throws. Built several times.
#include "nasty_plugin.h"

#include <cerrno>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <time.h>

#define VISIBLE extern "C" __attribute__((visibility("default")))

namespace
{

struct Own_error : std::exception {
    const char *what() const noexcept override
    {
        return "own type";
    }
};

std::map<int, std::string> numbers = {{1, "one"}, {2, "two"}}; // constructed at load, destroyed at unload
thread_local int calls; // touched only under the host's lock for the loader: see nasty_loader

} // namespace

VISIBLE void nasty_plugin_throw(int what)
{
    auto memory = std::make_unique<char[]>(300);
    memory[what] = 1;
    if (what == 0) {
        throw std::out_of_range("nasty plugin");
    }
    if (what == 1) {
        throw 100 + NASTY_PLUGIN_NUMBER;
    }
    throw Own_error();
}

VISIBLE int nasty_plugin_add(int a, int b)
{
    calls++;
    return numbers.size() == 2 && numbers[1] == "one" && calls > 0 ? a + b : -1;
}

VISIBLE int nasty_plugin_sleep(unsigned us)
{
    struct timespec rest = {0, static_cast<long>(us) * 1000};
    while (nanosleep(&rest, &rest) != 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}
