/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_plugin.h - the functions that the nasty host calls in its plugins. */
#ifndef NASTY_PLUGIN_H
#define NASTY_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Throws std::out_of_range("nasty plugin"), 100 + the plugin's number, or an own type that is derived from
 * std::exception. */
typedef void nasty_plugin_throw_function(int what);
typedef int nasty_plugin_add_function(int a, int b);
typedef int nasty_plugin_sleep_function(unsigned us);

#ifdef __cplusplus
}
#endif
#endif
