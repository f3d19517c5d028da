// SPDX-License-Identifier: Apache-2.0
// trace_engine.mjs - Perfetto's own trace processor, in this process, asked over its own interface.
//
// The engine is WebAssembly, built by Perfetto's authors and brought by fetch_trace_processor.sh with its checksums. Its
// JavaScript glue is written for a worker of Perfetto's page: it talks through a MessagePort, loads its binary by URL and
// keeps its bridge to itself. Three replacements make it serve here; each must match exactly once, so that another version
// of the glue fails loudly instead of running half patched.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const CHUNK_BYTES = 8 << 20; // of a trace given to the engine at once

function replaceOnce(text, from, to) {
  const parts = text.split(from);
  if (parts.length !== 2) {
    throw new Error(`engine_bundle.node.js: expected one "${from}", found ${parts.length - 1}: not the pinned version`);
  }
  return parts.join(to);
}

function loadBridge(folder) {
  const path = join(folder, "engine_bundle.node.js");
  let glue = readFileSync(path, "utf8");
  // The 64-bit build of the engine is not in the package: never choose it, whatever this Node can run.
  glue = replaceOnce(glue, "this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;");
  glue = replaceOnce(glue, "locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: self.stallboxWasm,");
  glue = replaceOnce(
    glue,
    "const wasmBridge = new wasm_bridge_1.WasmBridge();",
    "const wasmBridge = new wasm_bridge_1.WasmBridge(); self.stallboxBridge = wasmBridge;"
  );
  const worker = {
    stallboxWasm: readFileSync(join(folder, "trace_processor.wasm")),
    location: { href: pathToFileURL(path).href },
  };
  // The glue asks for these two globals to believe that it runs in a worker.
  globalThis.self = worker;
  globalThis.WorkerGlobalScope = Object;
  vm.runInThisContext(glue, { filename: path });
  return worker.stallboxBridge;
}

// The engine's start is two promises deep; until then its request buffer has no address.
async function untilReady(bridge) {
  for (let turn = 0; bridge.reqBufferAddr === 0; turn++) {
    if (turn > 100000) {
      throw new Error("the trace processor did not start");
    }
    await new Promise((next) => setImmediate(next));
  }
}

// Returns { load(bytes), query(sql) -> rows, close() }. One trace is loaded at a time; load() forgets the one before.
export async function openTraceEngine(folder) {
  folder = resolve(folder);
  const { EngineBase } = await import(pathToFileURL(join(folder, "engine.mjs")).href);
  const log = console.warn;
  console.warn = () => {}; // the engine's own log; what it found wrong with a trace is in its `stats` table
  const bridge = loadBridge(folder);
  await untilReady(bridge);
  const channel = new MessageChannel();

  class LocalEngine extends EngineBase {
    id = "local";
    mode = "WASM";
    rpcSendRequestBytes(bytes) {
      bridge.onMessage({ data: bytes });
    }
  }
  const engine = new LocalEngine();
  bridge.messagePort = channel.port1;
  channel.port2.onmessage = (message) => engine.onRpcResponseBytes(message.data);

  return {
    async load(bytes) {
      await engine.resetTraceProcessor({
        cropTrackEvents: false,
        ingestFtraceInRawTable: false,
        analyzeTraceProtoContent: false,
        ftraceDropUntilAllCpusValid: false,
      });
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
        await engine.parse(bytes.subarray(at, at + CHUNK_BYTES));
      }
      await engine.notifyEof();
    },
    async query(sql) {
      const result = await engine.query(sql);
      const names = result.columns();
      const rows = [];
      for (const row = result.iter(Object.fromEntries(names.map((name) => [name, null]))); row.valid(); row.next()) {
        rows.push(
          Object.fromEntries(names.map((name) => [name, typeof row[name] === "bigint" ? Number(row[name]) : row[name]]))
        );
      }
      return rows;
    },
    close() {
      channel.port1.close();
      console.warn = log;
    },
  };
}
