/* SPDX-License-Identifier: Apache-2.0 */
/* policy_key_file.h - keys in files: one line each, "stallbox-secret-key p256 HEX" or "stallbox-public-key p256 HEX" of
 * a key that signs, and the same with "x25519" of one that payloads are sealed to.
 *
 * A secret key's file is its owner's alone (0600) and is never overwritten. */
#ifndef SBX_POLICY_KEY_FILE_H
#define SBX_POLICY_KEY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "signature.h"

/* Write NAME.key and NAME.pub. Returns 0, or -errno with "PATH: reason". Existing files are not changed, and a failure
 * leaves no new file. */
int sbx_key_files_write(const char *name, const uint8_t secret[SBX_SECRET_KEY_BYTES],
                        const uint8_t key[SBX_PUBLIC_KEY_BYTES], char *why, size_t why_bytes);

/* Read a secret key. A file that others may read or write is refused (-EPERM). The caller wipes the key. */
int sbx_secret_key_read(const char *path, uint8_t secret_out[SBX_SECRET_KEY_BYTES], char *why, size_t why_bytes);

/* Read a public key. */
int sbx_public_key_read(const char *path, uint8_t key_out[SBX_PUBLIC_KEY_BYTES], char *why, size_t why_bytes);

/* The same three for keys to seal to. */
int sbx_seal_key_files_write(const char *name, const uint8_t secret[SBX_SEAL_KEY_BYTES],
                             const uint8_t key[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes);
int sbx_seal_secret_read(const char *path, uint8_t secret_out[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes);
int sbx_seal_public_read(const char *path, uint8_t key_out[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes);

#endif
