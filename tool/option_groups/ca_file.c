/* SPDX-License-Identifier: Apache-2.0 */
/* ca_file.c - reads it once; what is in it is handed to the exchange, which opens no file of its own. */
#include "ca_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable_file.h"
#include "http_exchange.h"

enum {
    CA_BYTES_MAX = 1 << 20
};

int sbx_ca_file_trust(const char *path, char *why, size_t why_bytes)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    if (path == NULL) {
        return 0;
    }
    char *resolved = realpath(path, NULL); /* /etc/ssl/certs is full of links */
    int result = resolved == NULL ? -errno : sbx_durable_file_read(AT_FDCWD, resolved, CA_BYTES_MAX, &bytes, &count);
    free(resolved);
    if (result != 0) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        return result;
    }
    char *pem = strndup((const char *)bytes, count);
    free(bytes);
    result = pem == NULL ? -ENOMEM : sbx_http_trust(pem);
    free(pem);
    if (result != 0) {
        snprintf(why, why_bytes, "%s: %s", path,
                 result == -EINVAL ? "there is no certificate (PEM) in it" : "out of memory");
    }
    return result;
}
