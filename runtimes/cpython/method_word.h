/* SPDX-License-Identifier: Apache-2.0 */
/* method_word.h - the word through which the interpreter calls a method or a function that is written in C, and how to
 * replace it.
 *
 * The word is a function pointer. It is in the method table of a type or a module (PyMethodDef), which is writable
 * data, or in the type itself. Each call reads the word again. So every call reaches a function of ours that the word
 * points to, even a call by specialised code of the interpreter. */
#ifndef METHOD_WORD_H
#define METHOD_WORD_H

#include <stdint.h>

enum {
    METHOD_NO_ARGUMENTS = 0x4,     /* (self, unused) */
    METHOD_FAST_WITH_NAMES = 0x82, /* (self, arguments, count, names) */
    METHOD_FAST_OF_CLASS = 0x282,  /* (self, class, arguments, count, names) */
    METHOD_ANY = 0,                /* in a search: any of them */
};

/* The word of a method of `type`, or of a built-in function. 0: there is no method of this name with these calling
 * flags. The caller holds the interpreter lock, so no object is half-written. */
struct method_word {
    uint64_t at;
    uint32_t flags;
};
struct method_word method_word_of_type(uint64_t type, const char *name, uint32_t flags);
uint64_t method_word_of_function(uint64_t function, const char *name, uint32_t flags);

/* Makes the word point to the function `ours`. `real_out` points to a function pointer, which gets the original
 * function before the word changes, because other threads may call through the word at any time. */
void method_word_lead_to(uint64_t at, const void *ours, void *real_out);

#endif
