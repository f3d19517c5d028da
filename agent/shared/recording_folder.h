/* SPDX-License-Identifier: Apache-2.0 */
/* recording_folder.h - where recordings lie when no folder was given, and how they are found again.
 *
 * All users may write to /dev/shm and /tmp: the first name may already be another user's folder, or a symbolic link. So
 * there is a list of places, the same for writers and for readers of recordings:
 *
 *   1  /dev/shm/stallbox-UID
 *   2  $XDG_RUNTIME_DIR/stallbox, then /run/user/UID/stallbox, where that folder belongs to this user
 *   3  /dev/shm/stallbox-UID-RANDOM, a name that nobody could take first; found again by listing
 *   4  /tmp/stallbox-UID, then /tmp/stallbox-UID-RANDOM
 *   5  $XDG_STATE_HOME/stallbox/recordings or ~/.local/state/stallbox/recordings: a disk, but ours
 *
 * A place is skipped if it belongs to another user, is a symbolic link, is no folder, or may be written by others,
 * whoever made it. A place without room for a recording (recording_room.h) is skipped while another place has room. */
#ifndef SBX_RECORDING_FOLDER_H
#define SBX_RECORDING_FOLDER_H

#include <stddef.h>

#include "marks.h"
#include "recording_file.h"

enum {
    SBX_RECORDING_FOLDERS_MAX = 8
};

struct sbx_recording_folders {
    unsigned count;
    char paths[SBX_RECORDING_FOLDERS_MAX][SBX_RECORDING_PATH_MAX];
};

/* Where to create a recording: the first place of the list that is ours, or can be created by us, and has room for the
 * smallest recording. If no place has room, it is the first place that is ours. Returns 0, or -errno of the first
 * place; then `why` describes the problem there. `why` may be NULL. */
SBX_MUST_CHECK int sbx_recordings_choose(char path_out[SBX_RECORDING_PATH_MAX], char *why, size_t why_bytes);

/* The folder in STALLBOX_RECORDINGS, valid until the environment changes; NULL: none. An empty value means none, as for
 * our other variables. */
const char *sbx_recordings_given(void);

/* Where recordings of this user may lie: each existing place of the list that is ours. If `given` is not NULL, only
 * that folder, without any check. */
void sbx_recordings_find(const char *given, struct sbx_recording_folders *found_out);

#endif
