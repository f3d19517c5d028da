// SPDX-License-Identifier: Apache-2.0
// glib_throws.cpp - an exception that leaves a callback and the loop that called it (test_point_glib.c).
#include <glib.h>

#include <stdexcept>

static gboolean throw_out(gpointer)
{
    throw std::runtime_error("out of the callback");
}

extern "C" int glib_throw_through(void)
{
    GMainContext *context = g_main_context_new(); // left in the middle of a dispatch, and not used again
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, throw_out, nullptr, nullptr);
    g_source_attach(source, context);
    try {
        g_main_context_iteration(context, FALSE);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
