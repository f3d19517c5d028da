#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// trace_query.mjs - asks a Perfetto trace in SQL, offline: one JSON document a query on standard output.
//
//   node trace_query.mjs --engine FOLDER TRACE [SQL | -f FILE.sql]...
//
// FOLDER is where fetch_trace_processor.sh put the engine. Exit codes: 0 done, 1 failed, 2 wrong usage.
import { readFileSync } from "node:fs";
import { openTraceEngine } from "./trace_engine.mjs";

const USAGE = "usage: trace_query.mjs --engine FOLDER TRACE [SQL | -f FILE.sql]...";

function readArguments(words) {
  const wanted = { engine: undefined, trace: undefined, queries: [] };
  while (words.length > 0) {
    const word = words.shift();
    if (word === "--engine") {
      wanted.engine = words.shift();
    } else if (word === "-f") {
      wanted.queries.push(readFileSync(words.shift() ?? "", "utf8"));
    } else if (wanted.trace === undefined) {
      wanted.trace = word;
    } else {
      wanted.queries.push(word);
    }
  }
  if (wanted.engine === undefined || wanted.trace === undefined || wanted.queries.length === 0) {
    console.error(USAGE);
    process.exit(2);
  }
  return wanted;
}

const wanted = readArguments(process.argv.slice(2));
try {
  const engine = await openTraceEngine(wanted.engine);
  await engine.load(readFileSync(wanted.trace));
  for (const sql of wanted.queries) {
    console.log(JSON.stringify(await engine.query(sql)));
  }
  engine.close();
} catch (error) {
  console.error(`trace_query: ${wanted.trace}: ${error.message ?? error}`);
  process.exit(1);
}
