// SPDX-License-Identifier: Apache-2.0
// special_stacks_cxx.cc - C++ frames: libstdc++'s callbacks, and stacks while an exception is on its way.
#include "special_stacks.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ios>
#include <mutex>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace {

struct calls_leaf {
    special_leaf *leaf;
    void *context;
    ~calls_leaf() { leaf(context); }
};

[[gnu::noinline]] void throw_past(special_leaf *leaf, void *context)
{
    calls_leaf guard{leaf, context};
    throw std::runtime_error("a message");
}

special_leaf *leaf_of_comparison;
void *context_of_comparison;

int compare_and_throw(const void *, const void *)
{
    calls_leaf guard{leaf_of_comparison, context_of_comparison};
    throw 7;
}

} // namespace

void special_sort(special_leaf *leaf, void *context)
{
    std::array<int, 40> values;
    for (unsigned i = 0; i < values.size(); i++) {
        values[i] = static_cast<int>(i * 7919 % 41);
    }
    bool done = false;
    std::sort(values.begin(), values.end(), [&](int a, int b) {
        if (!done && a == 20) {
            done = true;
            leaf(context);
        }
        return a < b;
    });
    if (!done) {
        std::abort();
    }
}

void special_landing_pad(special_leaf *leaf, void *context)
{
    try {
        throw_past(leaf, context);
    } catch (const std::exception &) {
    }
}

void special_catch(special_leaf *leaf, void *context)
{
    try {
        std::array<int, 3> values{};
        values.at(static_cast<unsigned>(std::atoi("7"))) = 1; // thrown inside libstdc++
    } catch (const std::out_of_range &) {
        leaf(context);
    }
}

void special_throw_through_qsort(special_leaf *leaf, void *context)
{
    std::array<int, 4> values{4, 3, 2, 1};
    leaf_of_comparison = leaf;
    context_of_comparison = context;
    try {
        std::qsort(values.data(), values.size(), sizeof values[0], compare_and_throw);
    } catch (int) {
    }
}

void special_stream(special_leaf *leaf, void *context)
{
    struct calling_buffer : std::stringbuf {
        special_leaf *leaf;
        void *context;
        int sync() override
        {
            leaf(context);
            return 0;
        }
    } buffer;
    buffer.leaf = leaf;
    buffer.context = context;
    std::ostream stream(&buffer);
    std::once_flag flag;
    std::call_once(flag, [&] { stream << 7 << std::flush; });
}
