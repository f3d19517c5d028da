/* SPDX-License-Identifier: Apache-2.0 */
/* special_stacks.h - frames of other languages and libraries between a test and its leaf.
 *
 * Each function calls `leaf(context)` at least once, in the situation that its name says. */
#ifndef SBX_TEST_SPECIAL_STACKS_H
#define SBX_TEST_SPECIAL_STACKS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void special_leaf(void *context);

/* C++: from a comparison inside std::sort; from a destructor that runs because an exception passes; from a catch block;
 * from an exception's way through qsort; from std::call_once and a stream's own callback. */
void special_sort(special_leaf *leaf, void *context);
void special_landing_pad(special_leaf *leaf, void *context);
void special_catch(special_leaf *leaf, void *context);
void special_throw_through_qsort(special_leaf *leaf, void *context);
void special_stream(special_leaf *leaf, void *context);

/* GLib: from an idle source of a main loop inside another one; from a regular expression's callback; from a signal
 * handler of an object, through libffi. */
void special_main_loop(special_leaf *leaf, void *context);
void special_regex(special_leaf *leaf, void *context);
void special_gobject_signal(special_leaf *leaf, void *context);

#ifdef __cplusplus
}
#endif

#endif
