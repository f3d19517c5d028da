#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// check_traces.mjs - exports sample stalls and asks Perfetto's own trace processor what it sees.
//
//   node check_traces.mjs ENGINE_FOLDER EXPORT_SAMPLE WORK_FOLDER
//
// Exit codes: 0 all hold, 1 something does not, 2 wrong usage.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openTraceEngine } from "./trace_engine.mjs";
import { gate } from "./trace_gate.mjs";
import { decode, encode, find, number } from "./trace_packets.mjs";

const [engineFolder, exportSample, workFolder] = process.argv.slice(2);
if (workFolder === undefined) {
  console.error("usage: check_traces.mjs ENGINE_FOLDER EXPORT_SAMPLE WORK_FOLDER");
  process.exit(2);
}

const MS = 1_000_000;
const [BEGIN, END, INSTANT] = [1, 2, 3]; // types of track events
const CALLS = `select s.id, s.name, s.ts, s.dur, s.depth, s.parent_id, s.arg_set_id, t.name as thread
               from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid)
               where (tt.name is null or tt.name = '')`;
const STATES = (label) => `select s.name, s.ts, s.dur, s.arg_set_id from slice s join track t on s.track_id = t.id
                           where t.name = '${label}: state' order by s.ts`;

let engine;
let failures = 0;

function exported(sample) {
  mkdirSync(workFolder, { recursive: true });
  const path = join(workFolder, `${sample}.pftrace`);
  execFileSync(exportSample, [sample, "perfetto", path], { stdio: "inherit" });
  return readFileSync(path);
}

async function load(sample) {
  assert.deepEqual(await gate(exported(sample), engine), []);
}

// The names of a slice and its parents, innermost first.
async function chain(id) {
  const rows = await engine.query(
    `with recursive up(id, parent_id, name, n) as (
       select id, parent_id, name, 0 from slice where id = ${id}
       union all select s.id, s.parent_id, s.name, n + 1 from slice s join up on s.id = up.parent_id)
     select name from up order by n`
  );
  return rows.map((row) => row.name);
}

async function notes(row) {
  const rows = await engine.query(`select key, display_value as value from args where arg_set_id = ${row.arg_set_id}`);
  return Object.fromEntries(rows.map((note) => [note.key.replace(/^debug\./, ""), note.value]));
}

async function check(name, run) {
  try {
    await run();
    console.log(`ok      ${name}`);
  } catch (error) {
    failures++;
    console.log(`NOT OK  ${name}\n${error.message}\n${(error.stack ?? "").split("\n").slice(1, 4).join("\n")}`);
  }
}

const READ = ["readQueryFromClient", "callHandler", "connSocketEventHandler", "aeProcessEvents", "aeMain", "main",
              "__libc_start_main", "_start"];
const CALL = ["call", "processCommand", "processCommandAndResetClient", "processInputBuffer", ...READ];

async function checkSamples() {
  await check("a sleep is a slice of its exact length under the stack that slept", async () => {
    await load("sleep");
    const [wait, ...more] = await engine.query(`${CALLS} and s.name = 'nanosleep'`);
    assert.equal(more.length, 0);
    assert.equal(wait.thread, "main");
    assert.equal(wait.dur, 2000 * MS);
    assert.deepEqual(await chain(wait.id), ["nanosleep", "debugCommand", ...CALL]);
    const said = await notes(wait);
    assert.equal(said.kind, "sleep");
    assert.equal(said.certainty, "measured");
    assert.equal(Number(said.duration_ms), 2000);
  });

  await check("a sleep is a stretch of the state track", async () => {
    const states = await engine.query(STATES("main"));
    const sleep = states.filter((state) => state.name === "sleep");
    assert.equal(sleep.length, 1);
    assert.equal(sleep[0].dur, 2000 * MS);
    assert.equal((await notes(sleep[0])).in, "nanosleep");
    assert.ok(states.some((state) => state.name === "idle"));
    assert.ok(states.some((state) => state.name === "on CPU"));
  });

  await check("threads and process have their names", async () => {
    const threads = await engine.query("select tid, name from thread where tid > 0 order by tid");
    assert.deepEqual(threads, [{ tid: 1, name: "main" }, { tid: 2, name: "bio_close_file" }]);
    const [process] = await engine.query("select name from process where pid = 1");
    assert.equal(process.name, "redis-server");
  });

  await check("the verdict lies over the judged interval, with cause, evidence and losses; the trigger ends it", async () => {
    const [stall] = await engine.query("select ts, dur, arg_set_id from slice where name like 'stall: %'");
    assert.equal(stall.dur, 2003 * MS);
    const said = await notes(stall);
    assert.equal(said.cause, "sleep");
    assert.equal(said.class, "off_cpu");
    assert.equal(said.function, "debugCommand");
    assert.equal(said.place, "debug.c:482");
    assert.match(said["evidence 1"], /one nanosleep of 2000 ms/);
    assert.equal(said.dropped, "signal_late 3");
    const [trigger] = await engine.query("select ts, dur from slice where name = 'trigger: slow_message'");
    assert.deepEqual(trigger, { ts: stall.ts + stall.dur, dur: 0 });
  });

  await check("messages have a track of their own", async () => {
    const messages = await engine.query(
      "select s.dur from slice s join track t on s.track_id = t.id where t.name = 'main: messages' order by s.ts"
    );
    assert.equal(messages.length, 13);
    assert.equal(messages[12].dur, 2003 * MS);
  });

  await check("no call goes on over a message boundary, and none is invented in idle time", async () => {
    const idle = (await engine.query(STATES("main"))).filter((state) => state.name === "idle");
    assert.ok(idle.length >= 10);
    const over = await engine.query(`select count(*) as n from (${CALLS} and t.name = 'main') c join slice i
                                     join track k on i.track_id = k.id and k.name = 'main: state' and i.name = 'idle'
                                     where c.ts < i.ts + i.dur and c.ts + c.dur > i.ts`);
    assert.equal(over[0].n, 0);
  });

  await check("a computed stall is sampled, nested and symbolized with files, lines and inlined calls", async () => {
    await load("script");
    const [leaf] = await engine.query(`${CALLS} and s.name = 'luaS_newlstr' order by s.ts limit 1`);
    assert.deepEqual(await chain(leaf.id), ["luaS_newlstr", "luaV_concat", "luaV_execute", "luaD_call", "lua_pcall",
                                            "luaCallFunction", "evalGenericCommand", "evalCommand", ...CALL]);
    const [command] = await engine.query(`${CALLS} and s.name = 'evalGenericCommand'`);
    assert.ok(command.dur > 1990 * MS, "400 samples are one call");
    const said = await notes(command);
    assert.equal(said.seen, "400");
    assert.equal(said.certainty, "sampled");
    assert.ok(Number(said.min_ms) <= command.dur / MS && command.dur / MS <= Number(said.max_ms));
    assert.equal(said.inlined, "yes");

    const [samples] = await engine.query(
      "select count(*) as n, count(distinct callsite_id) as stacks, min(cpu_mode) as mode from perf_sample where utid = " +
        "(select utid from thread where name = 'main')"
    );
    assert.ok(samples.n >= 400 && samples.stacks >= 5, JSON.stringify(samples));
    assert.equal(samples.mode, "user");
    const frames = await engine.query(
      `select f.name as function, m.name as module, m.build_id as build_id, y.source_file as file, y.line_number as line
       from stack_profile_frame f join stack_profile_mapping m on f.mapping = m.id
       left join stack_profile_symbol y on f.symbol_set_id = y.symbol_set_id where f.name = 'luaH_get'`
    );
    assert.equal(frames.length, 1);
    assert.equal(frames[0].module, "/liblua5.1.so.0"); // the engine puts a slash before each part of a path
    assert.deepEqual([frames[0].file, frames[0].line], ["luaH_get.c", 434]);
    assert.equal(frames[0].build_id, "12".repeat(20));
  });

  await check("sampled callstacks reach from main's start to the leaf", async () => {
    const rows = await engine.query(
      `with recursive up(id, parent_id, frame_id, n) as (
         select c.id, c.parent_id, c.frame_id, 0 from stack_profile_callsite c
           join stack_profile_frame f on c.frame_id = f.id where f.name = 'luaH_set'
         union all select c.id, c.parent_id, c.frame_id, n + 1 from stack_profile_callsite c join up on c.id = up.parent_id)
       select f.name from up join stack_profile_frame f on up.frame_id = f.id order by n`
    );
    assert.deepEqual(rows.map((row) => row.name), ["luaH_set", "luaV_execute", "luaD_call", "lua_pcall", "luaCallFunction",
                                                   "evalGenericCommand", "evalCommand", ...CALL]);
  });

  await check("CPU time and allocations are counters of the thread", async () => {
    const counters = await engine.query(
      `select t.name, t.unit, count(*) as n, max(c.value) - min(c.value) as rise from counter c
       join counter_track t on c.track_id = t.id where t.name like 'main: %' group by t.name, t.unit order by t.name`
    );
    assert.deepEqual(counters.map((counter) => [counter.name, counter.unit]),
                     [["main: CPU time", "ms"], ["main: allocated", "bytes"]]);
    assert.ok(counters[0].rise > 1900 && counters[0].rise < 2100);
    assert.equal(counters[1].rise, 133 * 4096);
  });

  await check("a lock wait points at what its holder was doing", async () => {
    await load("lock");
    const [flow, ...more] = await engine.query(
      `select o.name as waiter, o.dur, o.arg_set_id, i.name as holder, i.id as holder_id, t.name as holder_thread
       from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id
       join thread_track tt on i.track_id = tt.id join thread t using (utid) where i.name = 'holds the lock'`
    );
    assert.equal(more.length, 0);
    assert.equal(flow.waiter, "pthread_mutex_lock");
    assert.equal(flow.dur, 1500 * MS);
    assert.equal(flow.holder_thread, "bio_aof");
    assert.deepEqual(await chain(flow.holder_id),
                     ["holds the lock", "write", "aofWrite", "bioProcessBackgroundJobs", "start_thread", "clone3"]);
    const said = await notes(flow);
    assert.equal(said.holder, "bio_aof");
    assert.equal(said.kind, "lock");
  });

  await check("who let a waiter go points at the end of the wait", async () => {
    await load("lock");
    const wakes = await engine.query(
      `select o.name as wakes, i.name as woken, o.arg_set_id, t.name as waiter
       from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id
       join thread_track tt on i.track_id = tt.id join thread t using (utid) where o.name = 'wakes'`
    );
    assert.deepEqual(wakes.map((wake) => [wake.wakes, wake.woken, wake.waiter]), [["wakes", "woken", "main"]]);
    const said = await notes(wakes[0]);
    assert.equal(said.waiter, "main");
    assert.equal(Number(said.after_ms), 1500);
  });

  await check("file writes say how many bytes they moved", async () => {
    const writes = await engine.query(`${CALLS} and s.name = 'write'`);
    assert.equal(writes.length, 30);
    assert.ok(writes.every((write) => write.dur === 45 * MS && write.thread === "bio_aof"));
    const said = await notes(writes[0]);
    assert.deepEqual([said.bytes, said.descriptor], ["1048576", "regular"]);
    const states = await engine.query(STATES("bio_aof"));
    assert.equal(states.filter((state) => state.name === "file I/O").length, 30);
  });

  await check("twenty threads are twenty threads", async () => {
    const [threads] = await engine.query("select count(*) as n from thread where tid > 0");
    assert.equal(threads.n, 20);
  });

  await check("a wait that has not ended is drawn to the trigger and called unfinished", async () => {
    await load("unanswered");
    const [wait, ...more] = await engine.query(`${CALLS} and s.name = 'nanosleep'`);
    assert.equal(more.length, 0);
    assert.deepEqual((await chain(wait.id)).slice(0, 3), ["nanosleep", "debugCommand", "call"]);
    assert.equal(wait.dur, 1998 * MS);
    const said = await notes(wait);
    assert.equal(said["still waiting"], "when the trigger fired");
    assert.equal(said.certainty, "sampled");
  });
}

// ---- traces that are broken on purpose: each must be noticed ----

// A copy of the trace with one change: `change(fields, index)` gets each packet and says true when it changed it.
function broken(bytes, change) {
  let done = false;
  const packets = decode(bytes).map((packet, index) => {
    const fields = decode(packet.value);
    if (!done && change(fields, index)) {
      done = true;
      return { ...packet, value: encode(fields) };
    }
    return packet;
  });
  assert.ok(done, "nothing was there to break");
  return encode(packets.filter((packet) => packet.value.length > 0));
}

// Changes the track event of the first packet that has one which `select` takes.
function inEvent(select, change) {
  return (fields) => {
    const event = find(fields, 11);
    const inner = event === undefined ? undefined : decode(event.value);
    if (inner === undefined || !select(inner)) {
      return false;
    }
    change(inner, fields);
    event.value = encode(inner);
    return true;
  };
}

const ofType = (type) => (event) => number(event, 9) === type;

// name, what the gate has to say of it, how it is broken
const BREAKS = [
  ["cut off in the middle of a packet", /^framing: .* are left/, (bytes) => bytes.subarray(0, bytes.length - 3)],
  ["cut off between two packets", /^trace processor: slice stall: .* never ends/, (bytes) => {
    const packets = decode(bytes);
    const last = packets.findLastIndex((packet) => ofType(END)(decode(find(decode(packet.value), 11)?.value ?? [])));
    return encode(packets.slice(0, last));
  }],
  ["a byte of rubbish at the end", /^framing: cut off/, (bytes) => Buffer.concat([bytes, Buffer.from([0x0a])])],
  ["a slice without an end", /1 slices are not ended/, (bytes) => broken(bytes, (fields) => {
    const event = find(fields, 11);
    if (event === undefined || !ofType(END)(decode(event.value))) {
      return false;
    }
    fields.splice(fields.indexOf(event), 1);
    return true;
  })],
  ["an end without a begin", /an end without a begin/, (bytes) => broken(bytes, inEvent(
    ofType(BEGIN), (event) => { find(event, 9).value = BigInt(END); }))],
  ["a flow that leads nowhere", /^flow 1: begun 1 times, ended 0 times/, (bytes) => broken(bytes, inEvent(
    (event) => find(event, 48) !== undefined, (event) => { find(event, 48).value += 1000n; }))],
  ["a name that is not interned", /interned_data_tokenizer_errors = 1/, (bytes) => broken(bytes, inEvent(
    (event) => find(event, 10) !== undefined, (event) => { find(event, 10).value = 99999n; }))],
  ["a callstack that is not interned", /stackprofile_invalid_callstack_id = 1/, (bytes) => broken(bytes, (fields) => {
    const sample = find(fields, 66);
    if (sample === undefined) {
      return false;
    }
    const inner = decode(sample.value);
    find(inner, 4).value = 99999n;
    sample.value = encode(inner);
    return true;
  })],
  ["an event type that does not exist", /event type 77/, (bytes) => broken(bytes, inEvent(
    ofType(INSTANT), (event) => { find(event, 9).value = 77n; }))],
  ["an event on a track that is not described", /track 424242 is not described/, (bytes) => broken(bytes, inEvent(
    ofType(INSTANT), (event) => { find(event, 11).value = 424242n; }))],
  ["interned data that is never begun", /packet_skipped_seq_needs_incremental_state_invalid/, (bytes) => broken(bytes,
    (fields, index) => {
      if (index !== 0) {
        return false;
      }
      find(fields, 13).value = 2n;
      return true;
    })],
];

async function checkBreaks() {
  const good = exported("lock");
  for (const [name, complaint, breakIt] of BREAKS) {
    await check(`noticed: ${name}`, async () => {
      const complaints = await gate(breakIt(good), engine);
      assert.ok(complaints.some((text) => complaint.test(text)), `complaints: ${JSON.stringify(complaints)}`);
    });
  }
  await check("taking a trace apart and putting it together does not break it", async () => {
    const bytes = encode(decode(good).map((packet) => ({ ...packet, value: encode(decode(packet.value)) })));
    assert.ok(bytes.equals(good));
    assert.deepEqual(await gate(bytes, engine), []);
  });
}

try {
  engine = await openTraceEngine(engineFolder);
} catch (error) {
  console.error(`check_traces: no trace processor in ${engineFolder} (fetch_trace_processor.sh brings it): ${error.message}`);
  process.exit(1);
}
await checkSamples();
await checkBreaks();
engine.close();
console.log(failures === 0 ? "all hold" : `${failures} do not hold`);
process.exit(failures === 0 ? 0 : 1);
