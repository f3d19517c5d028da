// SPDX-License-Identifier: Apache-2.0
// trace_gate.mjs - is this a trace that Perfetto takes without a complaint, and without having to guess?
//
// The engine alone is not enough: it says nothing of a file that is cut off, of a flow without an end or of an end without
// a begin, and some of what it does count (unknown interned names, events it cannot parse) it files under "info". So
// the gate looks at the file itself first, then at the engine's own error counts, all of them by name.
import { decode, find, number } from "./trace_packets.mjs";

const PACKET = 1;
const TIMESTAMP = 8;
const SEQUENCE_ID = 10;
const TRACK_EVENT = 11;
const SEQUENCE_FLAGS = 13;
const TRACK_DESCRIPTOR = 60;
const EVENT_TYPE = 9;
const EVENT_TRACK = 11;
const FLOW = 47;
const TERMINATING_FLOW = 48;
const [BEGIN, END, INSTANT, COUNTER] = [1, 2, 3, 4];
const EVENT_TYPES = new Set([BEGIN, END, INSTANT, COUNTER]);

function gateFile(bytes, complain) {
  let packets;
  try {
    packets = decode(bytes);
  } catch (error) {
    complain(`framing: ${error.message}`);
    return;
  }
  const depths = new Map();
  const flows = new Map(); // id -> [begun, ended]
  for (const [index, packet] of packets.entries()) {
    if (packet.number !== PACKET || packet.wire !== 2) {
      complain(`framing: field ${packet.number} of wire type ${packet.wire} where packet ${index} should be`);
      return;
    }
    let fields;
    try {
      fields = decode(packet.value);
    } catch (error) {
      complain(`framing: packet ${index}: ${error.message}`);
      return;
    }
    if (number(fields, SEQUENCE_ID) === 0 || number(fields, SEQUENCE_FLAGS) !== (index === 0 ? 1 : 2)) {
      complain(`packet ${index}: not marked as ${index === 0 ? "the first" : "a later one"} of its sequence`);
    }
    const descriptor = find(fields, TRACK_DESCRIPTOR);
    if (descriptor !== undefined) {
      depths.set(number(decode(descriptor.value), 1), 0);
    }
    const event = find(fields, TRACK_EVENT);
    if (event !== undefined) {
      gateEvent(decode(event.value), find(fields, TIMESTAMP), index, depths, flows, complain);
    }
  }
  for (const [track, depth] of depths) {
    if (depth !== 0) {
      complain(`track ${track}: ${depth} slices are not ended`);
    }
  }
  for (const [id, [begun, ended]] of flows) {
    if (begun !== 1 || ended !== 1) {
      complain(`flow ${id}: begun ${begun} times, ended ${ended} times`);
    }
  }
}

function gateEvent(event, timestamp, index, depths, flows, complain) {
  const track = number(event, EVENT_TRACK);
  const type = number(event, EVENT_TYPE);
  if (!EVENT_TYPES.has(type)) {
    complain(`packet ${index}: event type ${type} is none that we write`);
  }
  if (timestamp === undefined) {
    complain(`packet ${index}: an event without a time`);
  }
  if (!depths.has(track)) {
    complain(`packet ${index}: track ${track} is not described`);
    return;
  }
  depths.set(track, depths.get(track) + (type === BEGIN ? 1 : type === END ? -1 : 0));
  if (depths.get(track) < 0) {
    complain(`packet ${index}: track ${track}: an end without a begin`);
    depths.set(track, 0);
  }
  for (const field of event) {
    if (field.number === FLOW || field.number === TERMINATING_FLOW) {
      const counts = flows.get(field.value) ?? [0, 0];
      counts[field.number === FLOW ? 0 : 1]++;
      flows.set(field.value, counts);
    }
  }
}

// What the engine counts that is no fault of the trace.
const HARMLESS = new Set(["parse_trace_duration_ns"]);

async function gateEngine(bytes, engine, complain) {
  try {
    await engine.load(bytes);
  } catch (error) {
    complain(`trace processor: ${error.message ?? error}`);
    return;
  }
  for (const row of await engine.query("select name, severity, value from stats where value > 0")) {
    const isFault = /error|invalid|missing|unknown|failure|loss|skipped|dropped|malformed|negative|out_of_order|misplaced/;
    if (!HARMLESS.has(row.name) && (row.severity !== "info" || isFault.test(row.name))) {
      complain(`trace processor: ${row.name} = ${row.value} (${row.severity})`);
    }
  }
  for (const row of await engine.query("select name, ts from slice where dur < 0")) {
    complain(`trace processor: slice ${row.name} at ${row.ts} never ends`);
  }
}

// The complaints about a trace, none for a good one. It stays loaded in the engine.
export async function gate(bytes, engine) {
  const complaints = [];
  const complain = (text) => complaints.push(text);
  gateFile(bytes, complain);
  await gateEngine(bytes, engine, complain);
  return complaints;
}
