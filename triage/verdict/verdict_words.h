/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.h - a verdict in sentences for a person. Pure. */
#ifndef SBX_VERDICT_WORDS_H
#define SBX_VERDICT_WORDS_H

#include "short_name.h"
#include "thread_judge.h"

enum {
    SBX_DURATION_TEXT_BYTES = 24,
    SBX_THREAD_TEXT_BYTES = 96
};

/* "2.00 s", "350 ms", "1.2 ms", "80 us". */
void sbx_duration_text(double ns, char out[SBX_DURATION_TEXT_BYTES]);

/* "main thread", "thread 3 (bio_lazy_free)", "main thread of process 1 (a worker)". */
void sbx_thread_text(const struct sbx_stall *stall, uint32_t thread, char out[SBX_THREAD_TEXT_BYTES]);

/* The function of a location, shortened to the room that a sentence has; "an unknown function" for NULL. */
const char *sbx_location_text(const struct sbx_location *location, char out[SBX_SHORT_NAME_BYTES]);

/* Add one sentence; it is dropped if there is no room for more. */
__attribute__((format(printf, 4, 5))) void sbx_evidence_add(struct sbx_verdict *verdict, const char *kind, double value,
                                                            const char *format, ...);

/* Whether there is a sentence of that kind with a number other than 0. */
bool sbx_has_evidence_value(const struct sbx_verdict *verdict, const char *kind);

/* Tell what was found, from the judgement of the thread that did not answer and the verdict so far. */
void sbx_evidence_of_judgement(const struct sbx_report *report, const struct sbx_judgement *judgement,
                               struct sbx_verdict *verdict);

/* Write the headline. */
void sbx_headline_write(const struct sbx_report *report, const struct sbx_judgement *judgement,
                        struct sbx_verdict *verdict);

#endif
