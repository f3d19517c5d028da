/* SPDX-License-Identifier: Apache-2.0 */
/* special_stacks_glib.c - GLib's and GObject's frames. */
#include "special_stacks.h"

#include <gio/gio.h>

struct call {
    special_leaf *leaf;
    void *context;
    GMainLoop *loop;
};

static gboolean call_leaf_and_quit(gpointer argument)
{
    struct call *call = argument;
    call->leaf(call->context);
    g_main_loop_quit(call->loop);
    return FALSE;
}

static gboolean run_inner_loop(gpointer argument)
{
    struct call *outer = argument;
    struct call inner = {outer->leaf, outer->context, g_main_loop_new(NULL, FALSE)};
    g_idle_add(call_leaf_and_quit, &inner);
    g_main_loop_run(inner.loop);
    g_main_loop_unref(inner.loop);
    g_main_loop_quit(outer->loop);
    return FALSE;
}

void special_main_loop(special_leaf *leaf, void *context)
{
    struct call call = {leaf, context, g_main_loop_new(NULL, FALSE)};
    g_idle_add(run_inner_loop, &call);
    g_main_loop_run(call.loop);
    g_main_loop_unref(call.loop);
}

static gboolean call_leaf_of_match(const GMatchInfo *match, GString *result, gpointer argument)
{
    struct call *call = argument;
    (void)match;
    g_string_append_c(result, 'x');
    call->leaf(call->context);
    return TRUE;
}

void special_regex(special_leaf *leaf, void *context)
{
    struct call call = {leaf, context, NULL};
    GRegex *expression = g_regex_new("b+", 0, 0, NULL);
    g_free(g_regex_replace_eval(expression, "aabbaa", -1, 0, 0, call_leaf_of_match, &call, NULL));
    g_regex_unref(expression);
}

static void call_leaf_of_signal(GSimpleAction *action, GVariant *value, gpointer argument)
{
    struct call *call = argument;
    (void)action;
    (void)value;
    call->leaf(call->context);
}

void special_gobject_signal(special_leaf *leaf, void *context)
{
    struct call call = {leaf, context, NULL};
    GSimpleAction *action = g_simple_action_new_stateful("name", NULL, g_variant_new_int32(0));
    g_signal_connect(action, "change-state", G_CALLBACK(call_leaf_of_signal), &call);
    g_action_change_state(G_ACTION(action), g_variant_new_int32(7));
    g_object_unref(action);
}
