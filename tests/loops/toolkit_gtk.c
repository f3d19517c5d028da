/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_gtk.c - a window with a dialog: GTK 3's gtk_dialog_run(), and a nested loop in GTK 4, which has no such
 * function. */
#include <gtk/gtk.h>
#include <stdlib.h>

#define toolkit_start        glib_start
#define toolkit_dialog       glib_dialog
#define toolkit_close_dialog glib_close_dialog
#include "toolkit_glib.c"
#undef toolkit_start
#undef toolkit_dialog
#undef toolkit_close_dialog

static GtkWidget *window;
#if GTK_MAJOR_VERSION < 4
static GtkWidget *message;
#endif

void toolkit_start(int *argc, char ***argv)
{
    glib_start(argc, argv);
#if GTK_MAJOR_VERSION < 4
    if (!gtk_init_check(argc, argv)) {
        exit(77);
    }
    window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    gtk_container_add(GTK_CONTAINER(window), gtk_button_new_with_label("a button"));
    gtk_widget_show_all(window);
#else
    if (!gtk_init_check()) {
        exit(77);
    }
    window = gtk_window_new();
    gtk_window_set_child(GTK_WINDOW(window), gtk_button_new_with_label("a button"));
    gtk_window_present(GTK_WINDOW(window));
#endif
}

void toolkit_dialog(void)
{
#if GTK_MAJOR_VERSION < 4
    message = gtk_message_dialog_new(GTK_WINDOW(window), GTK_DIALOG_MODAL, GTK_MESSAGE_INFO, GTK_BUTTONS_CLOSE, "text");
    gtk_dialog_run(GTK_DIALOG(message));
    gtk_widget_destroy(message);
#else
    GtkWidget *over = gtk_window_new();
    gtk_window_set_modal(GTK_WINDOW(over), TRUE);
    gtk_window_set_transient_for(GTK_WINDOW(over), GTK_WINDOW(window));
    gtk_window_set_child(GTK_WINDOW(over), gtk_label_new("text"));
    gtk_window_present(GTK_WINDOW(over));
    glib_dialog();
    gtk_window_destroy(GTK_WINDOW(over));
#endif
}

void toolkit_close_dialog(void)
{
#if GTK_MAJOR_VERSION < 4
    gtk_dialog_response(GTK_DIALOG(message), GTK_RESPONSE_CLOSE);
#else
    glib_close_dialog();
#endif
}
