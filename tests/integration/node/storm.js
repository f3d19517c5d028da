// storm.js MODULE SECONDS [MICROSECONDS] - a signal each so many microseconds walks what it met, while V8 compiles, optimises, gives code up, collects,
// throws, and matches. Each function knows by whom it may be called: another caller is a stack that never was.
'use strict';
const vm = require('vm');
const native = { exports: {} };
process.dlopen(native, process.argv[2]);
const { ours, storm, pairs } = native.exports;
const FEWEST_ROUNDS = 5; // the first of them is without signals
const until = Date.now() + Number(process.argv[3] || 2) * 1000;

const names = new Map(), callers = new Map();
function known(name, ...mayCall) {
  if (!callers.has(name)) {
    names.set(ours()[1][5], name);
    callers.set(name, mayCall);
  }
}
let learning = true;

function leaf(x) { if (learning) { known('leaf', 'middle', 'spin'); } return (x * 31 + 7) % 1000003; }
function middle(x) { if (learning) { known('middle', 'spin'); } return leaf(x) + leaf(x + 1); }
function spin(n) { if (learning) { known('spin', 'work'); } let sum = 0; for (let i = 0; i < n; i++) { sum += middle(i) ^ leaf(i); } return sum; }
function unsure(x) { if (learning) { known('unsure', 'shapes'); } return x.a + x.b; }
function shapes(n) {
  if (learning) { known('shapes', 'work'); }
  let sum = 0;
  for (let i = 0; i < n; i++) {
    sum += unsure(i % 1000 === 999 ? { b: 'x', a: 1.5, c: i } : { a: i, b: i + 1 }).length || 1; // optimised, given up, optimised ...
  }
  return sum;
}
function deep(n) { if (learning) { known('deep', 'work', 'deep'); } return n === 0 ? 0 : deep(n - 1) + 1; }
function thrower(n) { if (learning) { known('thrower', 'catcher', 'thrower'); } if (n === 0) { throw new Error('storm'); } thrower(n - 1); }
function catcher() { if (learning) { known('catcher', 'work'); } try { thrower(10); } catch (error) { return error.stack.length; } return 0; }
function garbage(n) { if (learning) { known('garbage', 'work'); } const kept = []; for (let i = 0; i < n; i++) { kept.push({ i, text: 'x' + i }); } return kept.length; }
function pattern() { if (learning) { known('pattern', 'work'); } return /^(a+)+$/.test('a'.repeat(18) + 'b'); }
function text() { if (learning) { known('text', 'work'); } return JSON.parse(JSON.stringify({ a: [1, 2, { b: 'c'.repeat(100) }] })).a.length; }
function* numbers(n) { if (learning) { known('numbers', 'generate'); } for (let i = 0; i < n; i++) { yield i; } }
function generate() { if (learning) { known('generate', 'work'); } let sum = 0; for (const i of numbers(200)) { sum += i; } return sum; }
function compared(a, b) { if (learning) { known('compared', 'sorting'); } return a - b; }
function sorting() { if (learning) { known('sorting', 'work'); } return Array.from({ length: 300 }, (x, i) => (i * 7919) % 307).sort(compared).length; }
function fresh(i) { if (learning) { known('fresh', 'work'); } return vm.runInThisContext(`(function fresh${i % 7}(n) { let s = 0; for (let i = 0; i < n; i++) { s += i; } return s; })`)(500); }
function overflow() { if (learning) { known('overflow', 'work', 'overflow'); return 0; } return overflow() + 1; }

function work(i) {
  spin(20000);
  shapes(5000);
  deep(200);
  catcher();
  garbage(3000);
  pattern();
  text();
  generate();
  sorting();
  fresh(i);
  if (i % 50 === 7) {
    try { overflow(); } catch { /* as meant */ }
  }
  if (i % 10 === 9 && global.gc) {
    global.gc(i % 20 === 9 ? { type: 'minor' } : undefined);
  }
}
let rounds = 0;
function turn() {
  work(rounds++);
  if (rounds === 1) {
    overflowLearned();
    learning = false;
    storm(Number(process.argv[4] || 1000));
  }
  if (Date.now() < until || rounds < FEWEST_ROUNDS) {
    setImmediate(turn);
    return;
  }
  const [signals, stacks, frames, unnamed, cut] = storm(0);
  let odd = 0;
  for (const [callee, caller] of pairs()) {
    const name = names.get(callee);
    if (name !== undefined && names.has(caller) && !callers.get(name).includes(names.get(caller))) {
      odd++;
      console.log(`${name} never was called by ${names.get(caller)}`);
    }
  }
  console.log(`${rounds} rounds, ${signals} signals, ${stacks} stacks, ${frames} frames; ${unnamed} without a name, ${cut} not to the root, ` +
              `${odd} callers that never were`);
  process.exit(odd === 0 && stacks > 0 ? 0 : 1);
}
function overflowLearned() { overflow(); }
turn();
