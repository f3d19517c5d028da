// SPDX-License-Identifier: Apache-2.0
// trace_packets.mjs - a trace file as packets and fields, without a schema: to look at framing, and to break traces on
// purpose. A message is an array of {number, wire, value}: a BigInt for wire types 0 and 1, bytes for 2.

function readVarint(bytes, at) {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    if (at.offset >= bytes.length) {
      throw new Error(`cut off at byte ${at.offset}`);
    }
    const byte = bytes[at.offset++];
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return BigInt.asUintN(64, value);
    }
  }
  throw new Error(`varint too long at byte ${at.offset}`);
}

export function decode(bytes) {
  const fields = [];
  const at = { offset: 0 };
  while (at.offset < bytes.length) {
    const tag = Number(readVarint(bytes, at));
    const field = { number: tag >>> 3, wire: tag & 7 };
    if (field.wire === 0) {
      field.value = readVarint(bytes, at);
    } else if (field.wire === 1 || field.wire === 2) {
      const length = field.wire === 1 ? 8 : Number(readVarint(bytes, at));
      if (length > bytes.length - at.offset) {
        throw new Error(`field ${field.number} at byte ${at.offset} has ${length} bytes, ${bytes.length - at.offset} are left`);
      }
      const content = bytes.subarray(at.offset, at.offset + length);
      at.offset += length;
      field.value = field.wire === 2 ? content : new DataView(content.buffer, content.byteOffset, 8).getBigUint64(0, true);
    } else {
      throw new Error(`wire type ${field.wire} before byte ${at.offset}`);
    }
    fields.push(field);
  }
  return fields;
}

function varintBytes(value) {
  const bytes = [];
  for (value = BigInt.asUintN(64, value); value >= 0x80n; value >>= 7n) {
    bytes.push(Number(value & 0x7fn) | 0x80);
  }
  bytes.push(Number(value));
  return bytes;
}

export function encode(fields) {
  const parts = [];
  for (const field of fields) {
    parts.push(Uint8Array.from(varintBytes(BigInt((field.number << 3) | field.wire))));
    if (field.wire === 0) {
      parts.push(Uint8Array.from(varintBytes(field.value)));
    } else if (field.wire === 1) {
      const fixed = new Uint8Array(8);
      new DataView(fixed.buffer).setBigUint64(0, field.value, true);
      parts.push(fixed);
    } else {
      parts.push(Uint8Array.from(varintBytes(BigInt(field.value.length))), field.value);
    }
  }
  return Buffer.concat(parts);
}

// The first field of this number; undefined if there is none.
export function find(fields, number) {
  return fields.find((field) => field.number === number);
}

export function number(fields, fieldNumber) {
  return Number(find(fields, fieldNumber)?.value ?? 0n);
}
