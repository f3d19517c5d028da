/* SPDX-License-Identifier: Apache-2.0 */
/* method_word.h - the word by which the interpreter calls a method or a function that is written in C, and what it is to call instead.
 *
 * It lies in the table of methods of a type or a module (PyMethodDef), which is data and can be written, or in the type itself. What calls by it reads it each time, so
 * that a word which leads to a function of ours is met by every call, also by those of interpreters that have specialised their code. */
#ifndef METHOD_WORD_H
#define METHOD_WORD_H

#include <stdint.h>

enum {
    METHOD_NO_ARGUMENTS = 0x4,     /* (self, unused) */
    METHOD_FAST_WITH_NAMES = 0x82, /* (self, arguments, count, names) */
    METHOD_FAST_OF_CLASS = 0x282,  /* (self, class, arguments, count, names) */
    METHOD_ANY = 0,                /* asked for: any of them */
};

/* The word of a method of `type`, or of a built-in function; 0: there is none of that name that is called as `flags` say. Needs the
 * interpreter's lock: nothing is half made then. */
struct method_word {
    uint64_t at;
    uint32_t flags;
};
struct method_word method_word_of_type(uint64_t type, const char *name, uint32_t flags);
uint64_t method_word_of_function(uint64_t function, const char *name, uint32_t flags);

/* `ours`: a function. `real_out`: a pointer to one, which is told before the word leads to ours, because other threads call by it meanwhile. */
void method_word_lead_to(uint64_t at, const void *ours, void *real_out);

#endif
