/* SPDX-License-Identifier: Apache-2.0 */
/* envelope_format.h - the fixed bytes around a payload: the format of a *.sbx file, and of the body of POST
 * /v1/snapshots.
 *
 *   off size
 *     0    4  magic "SBX1"
 *     4    1  version = 1
 *     5    1  suite: 0 = plain; 1 = sealed: HPKE (RFC 9180) base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 *             ChaCha20-Poly1305
 *     6    2  zero
 *     8    8  recipient key id: the first bytes of the SHA-256 of its public key; zero when plain
 *    16   16  payload id; equals the one inside
 *    32    4  body bytes, little endian: everything after the header
 *    36    4  CRC-32C (Castagnoli) of bytes 0..35 and of the body: detects a torn or damaged file, not an attack
 *    40    -  plain: one zstd frame of one protobuf Payload; sealed: enc (32 bytes) || ciphertext
 *
 * The plaintext of a sealed body is: length of the frame (4 bytes, little endian) || the frame || zeros up to a size
 * that reveals little. The last 16 bytes of the ciphertext are the tag. info is SBX_SEAL_INFO with its NUL. The
 * additional data are bytes 0..35 of the header, so that a body cannot be put under another id or key. A context seals
 * one message, with sequence number 0. A sender adds zeros until the size of the whole envelope is a power of two, and
 * at least SBX_SEALED_BYTES_MIN. A reader accepts any size.
 *
 * This is only a layout. Agent side and server side each have their own code for it. */
#ifndef SBX_ENVELOPE_FORMAT_H
#define SBX_ENVELOPE_FORMAT_H

#define SBX_ENVELOPE_MAGIC  "SBX1"
#define SBX_ENVELOPE_SUFFIX ".sbx"

enum {
    SBX_ENVELOPE_VERSION = 1,
    SBX_ENVELOPE_SUITE_PLAIN = 0,
    SBX_ENVELOPE_SUITE_SEALED = 1,
    SBX_ENVELOPE_HEADER_BYTES = 40,
    SBX_ENVELOPE_BYTES_MAX = 1 << 20, /* header and body; a server refuses more */
    SBX_PAYLOAD_BYTES_MAX = 8 << 20,  /* protobuf bytes after decompression; a reader stops there */
    SBX_PAYLOAD_WINDOW_LOG_MAX = 23,  /* zstd window a reader allows: 8 MiB */
    SBX_PAYLOAD_ID_BYTES = 16,
    SBX_SEAL_KEY_BYTES = 32, /* size of X25519 keys, public or secret; enc is such a public key */
    SBX_SEAL_KEY_ID_BYTES = 8,
    SBX_SEAL_TAG_BYTES = 16,
    SBX_SEAL_LENGTH_BYTES = 4,
    SBX_SEAL_AAD_BYTES = 36, /* of the header: all but the checksum, which covers the ciphertext */
    SBX_SEAL_OVERHEAD_BYTES = SBX_SEAL_KEY_BYTES + SBX_SEAL_TAG_BYTES + SBX_SEAL_LENGTH_BYTES,
    SBX_SEALED_BYTES_MIN = 4096, /* of an envelope when it is sent */
};

#define SBX_SEAL_INFO "stallbox-seal-v1"

/* The answer to POST /v1/snapshots is 200 (or 201) with exactly this body, followed by the payload id in lower hex and
 * a newline: "STALLBOX-STORED <32 hex>\n". Any other answer, for example the 200 of a captive portal, is not a
 * delivery. */
#define SBX_STORED_PREFIX "STALLBOX-STORED "

#endif
