/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_load.c - posts COUNT payloads of 40 machines, each until it is acknowledged: usage: fleet_load COUNT PORT...
 *
 * Payload n goes to the ports in turn. If a server does not answer, or says "later", the next one gets the payload, as
 * with a proxy in front. Prints how many answers were not yet an acknowledgement. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_fixture.h"

enum {
    MACHINES = 40,
    TRIES_MAX = 600,
    PAUSE_MS = 100,
};

static int deliver(const struct envelope *envelope, char **ports, unsigned count, unsigned first)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        struct answer answer = post((uint16_t)atoi(ports[(first + i) % count]), envelope->bytes, envelope->count);
        long status = answer.status;
        int is_stored = status == 200 && answer_has(&answer, envelope->id);
        answer_finish(&answer);
        if (is_stored)
            return (int)i;
        if (status >= 400 && status < 500 && status != 429) {
            fprintf(stderr, "fleet_load: %ld for %s\n", status, envelope->id);
            return -1;
        }
        sleep_ms(PAUSE_MS);
    }
    fprintf(stderr, "fleet_load: nobody takes %s\n", envelope->id);
    return -1;
}

int main(int argc, char **argv)
{
    long again = 0;
    if (argc < 3)
        return 2;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (unsigned n = 0; n < (unsigned)atoi(argv[1]); n++) {
        struct envelope envelope =
            envelope_of_machine((enum sbx_scenario)(n % SBX_SCENARIO_COUNT), n + 1, (uint8_t)(1 + n % MACHINES));
        int tries = deliver(&envelope, argv + 2, (unsigned)argc - 2, n);
        envelope_finish(&envelope);
        if (tries < 0)
            return 1;
        again += tries;
    }
    printf("%ld\n", again);
    return 0;
}
