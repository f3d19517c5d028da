/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a roster, a file that every recorded program may write: as the companion reads it, and as
 * programs map it.
 *
 * The number of the layout is set right in each. Properties: a companion's counts stay within the roster's size; a
 * program that writes into such a file stays within it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "roster.h"
#include "snapshot_fates.h"

static char folder[] = "/tmp/stallbox-fuzz-roster.XXXXXX";
static uint64_t number;
static int descriptor = -1;

static void clean(void)
{
    sbx_roster_remove(folder, number, descriptor);
    rmdir(folder);
}

/* Read it as a companion does, with an empty spool. */
static void read_it(void)
{
    static struct sbx_roster copy;
    struct sbx_snapshot_fates fates;
    MUST(sbx_roster_read(descriptor, &copy));
    for (uint32_t i = 0; i < SBX_ROSTER_PROCESSES; i++) {
        MUST(sbx_roster_process(&copy, copy.processes[i].pid).pid == copy.processes[i].pid);
    }
    (void)sbx_roster_process(&copy, UINT32_MAX);
    sbx_snapshot_fates_find(folder, &copy, &fates);
    uint32_t told = fates.withheld + fates.waiting + fates.raw + fates.delivered + fates.bad + fates.gone;
    MUST(fates.made == copy.snapshots && told <= SBX_ROSTER_IDS && fates.older == fates.made - told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_roster made;
    static const uint8_t id[SBX_ROSTER_ID_BYTES] = {1, 2, 3};
    static uint32_t layout;
    if (descriptor < 0) {
        MUST(mkdtemp(folder) != NULL);
        descriptor = sbx_roster_create(folder, &number);
        MUST(descriptor >= 0 && sbx_roster_read(descriptor, &made));
        layout = made.layout;
        atexit(clean);
    }
    memset(&made, 0, sizeof made);
    made.layout = layout;
    size_t behind = sizeof made - sizeof made.layout;
    if (bytes > 0) {
        memcpy((char *)&made + sizeof made.layout, data, bytes < behind ? bytes : behind);
    }
    MUST(pwrite(descriptor, &made, sizeof made, 0) == (ssize_t)sizeof made);
    read_it();
    struct sbx_roster *roster = sbx_roster_map(folder, number);
    MUST(roster != NULL);
    for (uint32_t pid = 1; pid < 4; pid++) {
        sbx_roster_say(roster, pid, (enum sbx_roster_state)(pid % 5), pid);
        sbx_roster_say_loop(roster, pid);
    }
    sbx_roster_add(roster, id);
    sbx_roster_add(roster, id);
    MUST(roster->snapshots - made.snapshots <= 1);
    munmap(roster, sizeof *roster);
    read_it();
    return 0;
}
