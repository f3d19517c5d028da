/* SPDX-License-Identifier: Apache-2.0 */
/* watch_writer.h - the watch thread's own chunk of the ring: its records about other threads. */
#ifndef SBX_WATCH_WRITER_H
#define SBX_WATCH_WRITER_H

#include "recording_format.h"

/* Put a record about another thread; record->thread says which one. The watch thread only. */
void sbx_watch_put(const struct sbx_record *record);

/* The ring's memory is given back: the chunk is not used from here on. The watch thread only. */
void sbx_watch_writer_forget(void);

#endif
