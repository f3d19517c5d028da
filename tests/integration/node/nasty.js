// nasty.js CASE - what a program may do to a walk: it must run as without one. Prints one line at its end.
'use strict';
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const vm = require('vm');

function busy(ms) {
  const end = Date.now() + ms;
  let x = 0;
  while (Date.now() < end) {
    for (let i = 0; i < 1000; i++) {
      x = (x * 31 + i) % 1000003;
    }
  }
  return x;
}
function deep(n) { return n === 0 ? busy(1) : deep(n - 1) + 1; }
function bottomless() { return bottomless() + 1; }
const done = () => console.log('done');
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const cases = {
  async workers() { // isolates come, go and are made where others lay
    for (let round = 0; round < 3; round++) {
      await Promise.all([1, 2, 3].map((i) => new Promise((resolve, reject) => {
        const worker = new Worker(__filename, { workerData: round * 3 + i });
        worker.on('exit', resolve).on('error', reject);
        if (i === 3) {
          setTimeout(() => worker.terminate(), 60); // in the middle of what it does
        }
      })));
    }
  },
  async contexts() {
    for (let i = 0; i < 60; i++) {
      vm.runInContext(`(function inside${i}(f) { return f(2); })`, vm.createContext({}), { filename: `c${i}.js` })(busy);
    }
    global.gc();
  },
  async recursion() {
    for (let i = 0; i < 20; i++) {
      deep(3000);
      try { bottomless(); } catch (error) { if (!(error instanceof RangeError)) { throw error; } }
      await later(1);
    }
  },
  async exit() {
    setTimeout(function leaves() { busy(60); process.on('exit', () => { busy(60); done(); }); process.exit(7); }, 10);
    await later(5000);
  },
  async aborts() { // an error that nobody catches, below native code
    setTimeout(() => JSON.parse('[1]', () => { busy(60); done(); throw new Error('nobody catches this'); }), 10);
    await later(5000);
  },
  async wasm() {
    const bytes = Buffer.from('0061736d010000000106016001' + '7f017f02070101650166000003020100070501016700010a0b0109002000' + '1000410a6a0b', 'hex');
    const module = await WebAssembly.instantiate(bytes, { e: { f: (n) => { deep(30); return n; } } });
    for (let i = 0; i < 100; i++) {
      module.instance.exports.g(i);
    }
  },
  async collector() {
    const kept = [];
    for (let i = 0; i < 24; i++) {
      for (let k = 0; k < 20000; k++) {
        kept.push({ k, text: 'x'.repeat(k % 50) });
      }
      global.gc({ type: i % 2 ? 'minor' : 'major' });
      if (i % 5 === 0) {
        kept.length = 0;
      }
      await later(0);
    }
  },
  async memory() { // strings outside of the heap, buffers, a snapshot of the heap
    const { getHeapSnapshot } = require('v8');
    const parts = [];
    for (let i = 0; i < 200; i++) {
      parts.push(Buffer.alloc(1 << 16, 'a').toString('latin1'), eval(`(function made${i}() { return ${i}; })`)());
    }
    for await (const chunk of getHeapSnapshot()) { void chunk; }
  },
  async inspector() { // breakpoints put other bytecode into functions
    const inspector = require('inspector');
    const session = new inspector.Session();
    session.connect();
    const post = (method, parameters) => new Promise((resolve, reject) => session.post(method, parameters, (error, result) => error ? reject(error) : resolve(result)));
    await post('Debugger.enable');
    await post('Profiler.enable');
    await post('Profiler.start');
    session.on('Debugger.paused', () => session.post('Debugger.resume'));
    await post('Debugger.setBreakpointByUrl', { lineNumber: 19, urlRegex: 'nasty' });
    for (let i = 0; i < 20; i++) { deep(10); await later(1); }
    await post('Profiler.stop');
    session.disconnect();
  },
  async generators() {
    async function* numbers() { for (let i = 0; i < 200; i++) { busy(1); yield i; } }
    for await (const i of numbers()) { await null; void i; }
    await Promise.allSettled(Array.from({ length: 100 }, async () => { await null; busy(1); throw new Error(); }));
  },
  async children() {
    const { execFileSync, fork } = require('child_process');
    for (let i = 0; i < 2; i++) {
      execFileSync(process.execPath, ['--expose-gc', __filename, 'contexts']);
    }
    await new Promise((resolve) => fork(__filename, ['exit'], { stdio: 'ignore' }).on('exit', resolve));
  },
};

if (isMainThread) {
  cases[process.argv[2]]().then(done);
} else {
  for (let i = 0; i < 5; i++) {
    deep(50 + workerData);
    busy(10);
  }
}
