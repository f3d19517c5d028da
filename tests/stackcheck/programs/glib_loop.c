/* SPDX-License-Identifier: Apache-2.0 */
/* glib_loop.c SECONDS - a GLib program: main loop, idle and time-out sources, containers' callbacks, GRegex, GMarkup,
 * signals through libffi, a thread pool. */
#include <gio/gio.h>
#include <stdlib.h>

static GMainLoop *loop;
static gint64 ends_us;
static volatile gsize sink;

static void count(gpointer value, gpointer context)
{
    (void)context;
    sink += GPOINTER_TO_SIZE(value);
}

static void count_pair(gpointer key, gpointer value, gpointer context)
{
    count(key, context);
    count(value, context);
}

static gboolean count_node(gpointer key, gpointer value, gpointer context)
{
    count_pair(key, value, context);
    return FALSE;
}

static gint compare(gconstpointer left, gconstpointer right)
{
    return GPOINTER_TO_INT(left) - GPOINTER_TO_INT(right);
}

static gint compare_with(gconstpointer left, gconstpointer right, gpointer context)
{
    (void)context;
    return compare(left, right);
}

static gboolean replace(const GMatchInfo *match, GString *result, gpointer context)
{
    (void)context;
    gchar *word = g_match_info_fetch(match, 0);
    g_string_append(result, word);
    g_free(word);
    return FALSE;
}

static void start_element(GMarkupParseContext *parse, const gchar *name, const gchar **names, const gchar **values,
                          gpointer context, GError **error)
{
    (void)parse;
    (void)names;
    (void)values;
    (void)context;
    (void)error;
    sink += strlen(name);
}

static void changed(GSimpleAction *action, GVariant *value, gpointer context)
{
    (void)action;
    (void)context;
    sink += g_variant_get_size(value);
}

static void pool_work(gpointer value, gpointer context)
{
    (void)context;
    gchar *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)&value, sizeof value);
    sink += strlen(sum);
    g_free(sum);
}

static gboolean work(gpointer context)
{
    GThreadPool *pool = context;
    GList *list = NULL;
    GHashTable *table = g_hash_table_new(g_direct_hash, g_direct_equal);
    GTree *tree = g_tree_new(compare);
    for (gint i = 1; i < 200; i++) {
        list = g_list_prepend(list, GINT_TO_POINTER(i * 7919 % 211 + 1));
        g_hash_table_insert(table, GINT_TO_POINTER(i), GINT_TO_POINTER(i * 3));
        g_tree_insert(tree, GINT_TO_POINTER(i * 31 % 97), GINT_TO_POINTER(i));
    }
    list = g_list_sort(list, compare);
    g_list_foreach(list, count, NULL);
    g_hash_table_foreach(table, count_pair, NULL);
    g_tree_foreach(tree, count_node, NULL);
    GArray *array = g_array_new(FALSE, FALSE, sizeof(gint));
    for (gint i = 0; i < 100; i++) {
        g_array_append_val(array, i);
    }
    g_qsort_with_data(array->data, 100, sizeof(gint), compare_with, NULL);
    GRegex *expression = g_regex_new("[a-z]+", 0, 0, NULL);
    gchar *text = g_regex_replace_eval(expression, "some words 1 and 2 numbers", -1, 0, 0, replace, NULL, NULL);
    GMarkupParser parser = {.start_element = start_element};
    GMarkupParseContext *parse = g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_markup_parse_context_parse(parse, "<a><b x='1'/><c>text</c></a>", -1, NULL);
    GSimpleAction *action = g_simple_action_new_stateful("name", NULL, g_variant_new_int32(0));
    g_signal_connect(action, "change-state", G_CALLBACK(changed), NULL);
    g_action_change_state(G_ACTION(action), g_variant_new_int32(7));
    g_thread_pool_push(pool, GINT_TO_POINTER(7), NULL);

    g_object_unref(action);
    g_markup_parse_context_free(parse);
    g_free(text);
    g_regex_unref(expression);
    g_array_free(array, TRUE);
    g_tree_unref(tree);
    g_hash_table_unref(table);
    g_list_free(list);
    if (g_get_monotonic_time() > ends_us) {
        g_main_loop_quit(loop);
        return FALSE;
    }
    return TRUE;
}

static gboolean nested(gpointer context)
{
    GMainContext *main_context = context;
    while (g_main_context_iteration(main_context, FALSE) && g_random_int_range(0, 4) != 0) {
    }
    return TRUE;
}

int main(int argc, char **argv)
{
    ends_us = g_get_monotonic_time() + (argc > 1 ? atoi(argv[1]) : 1) * G_USEC_PER_SEC;
    loop = g_main_loop_new(NULL, FALSE);
    GThreadPool *pool = g_thread_pool_new(pool_work, NULL, 2, FALSE, NULL);
    g_timeout_add(1, work, pool);
    g_timeout_add(3, nested, NULL);
    g_main_loop_run(loop);
    g_thread_pool_free(pool, TRUE, TRUE);
    g_main_loop_unref(loop);
    return 0;
}
