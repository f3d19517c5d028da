// SPDX-License-Identifier: Apache-2.0
// host_dies.cpp - a C++ program that handles some messages and then dies in dies_here(), of the cause that its argument
// names.
#undef NDEBUG
#include <poll.h>

#include <cassert>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

namespace {

volatile int zero;

__attribute__((noinline)) int sink(volatile char *deeper)
{
    volatile char room[4096];
    room[0] = deeper != nullptr ? deeper[0] : 0;
    int below = zero == 0 ? sink(room) : 0;
    return below + room[0];
}

} // namespace

__attribute__((noinline)) void dies_here(const char *how);
__attribute__((noinline)) void dies_here(const char *how)
{
    if (std::strcmp(how, "assertion") == 0) {
        assert(zero == 1);
    } else if (std::strcmp(how, "exception") == 0) {
        std::vector<int> nothing;
        zero = nothing.at(static_cast<std::size_t>(zero) + 5);
    } else if (std::strcmp(how, "thread") == 0) {
        std::thread forgotten([] { poll(nullptr, 0, 10000); });
    } else if (std::strcmp(how, "overflow") == 0) {
        zero = sink(nullptr);
    }
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    struct pollfd none = {-1, 0, 0};
    for (int i = 0; i < 20; i++) {
        poll(&none, 1, 2);
    }
    dies_here(argc > 1 ? argv[1] : "");
    return 0;
}
