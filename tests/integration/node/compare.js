// compare.js MODULE [ROUNDS] - in all sorts of places of a program: is what we read of the stack what V8 tells of it (Error's call sites)?
'use strict';
const fs = require('fs');
const vm = require('vm');
const native = { exports: {} };
process.dlopen(native, process.argv[2]);
const { ours } = native.exports;
if (!ours) {
  process.exit(1);
}
const rounds = Number(process.argv[3] || 100);
Error.stackTraceLimit = 1000;

const starts = new Map(); // of a file, where its lines begin
function placeOf(file, line, column) {
  if (!starts.has(file)) {
    const lines = [0];
    let text = '';
    try {
      text = fs.readFileSync(file.replace(/^file:\/\//, ''), 'utf8');
    } catch {
      // of node's own, or of nowhere
    }
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      lines.push(at + 1);
    }
    starts.set(file, lines.length > 1 ? lines : null);
  }
  const lines = starts.get(file);
  return lines === null ? -1 : lines[line - 1] + column - 1;
}

// V8's call sites tell where the word "function" stands, and we where the parameters begin.
const texts = new Map();
function isPlace(file, word, parameters) {
  if (!texts.has(file)) {
    texts.set(file, fs.readFileSync(file.replace(/^file:\/\//, ''), 'utf8'));
  }
  const between = texts.get(file).slice(word, parameters);
  return word <= parameters && /^[^()=>;{}\n]*$/.test(between);
}

let stacks = 0, frames = 0, wrong = 0, places = 0, callLines = 0, unknownNames = 0;
const shown = new Set();

function theirs() {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (error, sites) => sites;
  const sites = new Error().stack;
  Error.prepareStackTrace = before;
  return sites.filter((site) => !site.isNative() && !site.isAsync() && (site.getFileName() || site.isEval()) &&
                                site.getScriptNameOrSourceURL() !== null || site.isEval());
}

// Both below one frame: this function's own.
function compare() {
  let mine = ours();
  for (let turn = 0; turn < 20 && mine.some((frame) => frame[3] === 0); turn++) {
    mine = ours(); // lines are counted in parts
  }
  let sites = theirs();
  const own = mine.findIndex((frame) => frame[0] === 'compare'), its = sites.findIndex((site) => site.getFunctionName() === 'compare');
  mine = mine.slice(own + 1);
  sites = sites.slice(its + 1);
  stacks++;
  frames += sites.length;
  let problem = mine.length === sites.length ? '' : 'depth';
  for (let i = 0; i < sites.length && problem === ''; i++) {
    const [name, file, place, line, isId] = mine[i], site = sites[i];
    const itsName = site.getFunctionName(), itsFile = site.getFileName() || '[eval]';
    if (file !== itsFile && !site.isEval()) {
      problem = 'file';
    }
    const isNamed = name === itsName || name.endsWith('.' + itsName) || (itsName || '').endsWith('.' + name) ||
                    (itsName || '').endsWith(' ' + name);
    if (!isNamed && itsName !== null && itsName !== 'eval' && name !== '(anonymous)') {
      problem = 'name';
    }
    unknownNames += !isNamed && itsName !== null;
    const enclosing = site.getEnclosingLineNumber ? site.getEnclosingLineNumber() : 0;
    if (line !== site.getLineNumber() && line !== enclosing) {
      problem = 'line';
    }
    callLines += line === site.getLineNumber();
    const itsPlace = enclosing && site.getFileName() ? placeOf(itsFile, enclosing, site.getEnclosingColumnNumber()) : -1;
    if (itsPlace >= 0) {
      places++;
      if (!isPlace(itsFile, itsPlace, place)) {
        problem = 'place';
      }
    }
    if (!isId) {
      problem = 'id';
    }
  }
  if (problem !== '') {
    wrong++;
    const text = problem + '\n  ours:   ' + mine.slice(0, 12).map((frame) => frame.join(' ')).join(' < ') + '\n  theirs: ' +
      sites.slice(0, 12).map((site) => `${site.getFunctionName()} ${site.getFileName()} ${site.getLineNumber()}/` +
                          `${site.getEnclosingLineNumber && site.getEnclosingLineNumber()}`).join(' < ');
    if (shown.size < 3 && !shown.has(text)) {
      shown.add(text);
      console.log(text);
    }
  }
}

// ---- places ----

function deep(n, then) {
  return n === 0 ? then() : deep(n - 1, then) + 1;
}
const arrow = (n) => { compare(); return n; };
class Shape {
  #hidden = 1;
  static { Shape.ready = true; }
  constructor() { compare(); }
  get area() { compare(); return this.#hidden; }
  set area(value) { compare(); this.#hidden = value; }
  static make() { compare(); return new Shape(); }
  #secret() { compare(); }
  open() { this.#secret(); }
  ['com' + 'puted']() { compare(); }
}
class Square extends Shape {
  constructor() { super(); compare(); }
}
function* counting() {
  for (let i = 0; i < 3; i++) {
    compare();
    yield i;
  }
}
async function later() {
  compare();
  await null;
  compare();
  await new Promise((resolve) => setImmediate(resolve));
  compare();
}
async function* stream() {
  yield 1;
  compare();
  yield 2;
}
const proxy = new Proxy({}, { get(target, key) { compare(); return key; }, has() { compare(); return true; } });
const object = { method() { compare(); }, plain: function () { compare(); }, valueOf() { compare(); return 3; }, toJSON() { compare(); return 1; } };
object.late = function () { compare(); };
const made = new Function('compare', 'return function inMade() { compare(); }')(compare);
const inContext = vm.runInNewContext('(function inContext(compare) { compare(); })', {}, 'context.js');
const inThis = vm.runInThisContext('\n\n(function inThis(compare) {\n compare();\n})', { filename: 'this.js', lineOffset: 100 });
function inlinedInner(n) { if (n % 50 === 0) { compare(); } return n * 2; }
function inlinedMiddle(n) { return inlinedInner(n) + 1; }
function inlinedOuter(n) { let sum = 0; for (let i = 0; i < 100; i++) { sum += inlinedMiddle(n + i); } return sum; }
function throwing(n) { try { if (n > 0) { return throwing(n - 1); } throw new Error('x'); } catch { compare(); } finally { compare(); } }
function many(a, b, c, d, e, ...rest) { compare(); return rest.length; }
function withArguments() { compare(); return arguments.length; }
const umlaut = function gr\u00fcn() { compare(); };

const sync = [
  () => compare(), () => deep(20, compare), () => deep(300, compare), () => arrow(1), () => new Shape(), () => new Square(), () => Shape.make(),
  () => { const shape = new Shape(); shape.area = shape.area + 1; shape.open(); shape.computed(); },
  () => [...counting()], () => [3, 1, 2].sort((a, b) => { compare(); return a - b; }), () => [1, 2].map((x) => { compare(); return x; }),
  () => [1, 2].forEach(function each() { compare(); }), () => 'abc'.replace(/b/, (x) => { compare(); return x; }),
  () => JSON.parse('[1,[2]]', function reviver(key, value) { compare(); return value; }), () => JSON.stringify({ object }),
  () => proxy.any, () => 'any' in proxy, () => object.method(), () => object.plain(), () => object.late(), () => object + 1, () => made(),
  () => inContext(compare), () => inThis(compare), () => eval('compare()'), () => eval('(function inEval() { compare(); })()'),
  () => inlinedOuter(0), () => throwing(3), () => many(1, 2, 3, 4, 5, 6, 7), () => many(1), () => withArguments(1, 2), () => umlaut(),
  () => Reflect.construct(Shape, []), () => Reflect.apply(arrow, null, [1]), () => arrow.call(null, 1), () => arrow.bind(null, 1)(),
  () => new Map([[1, 2]]).forEach(() => compare()), () => Array.from({ length: 2 }, () => compare()), () => require('util').inspect({ get x() { compare(); return 1; } }, { getters: true }),
  () => vm.runInNewContext('f()', { f: () => deep(3, compare) }), () => new Intl.NumberFormat('en').format({ valueOf() { compare(); return 1; } }),
];

(async () => {
  for (let round = 0; round < rounds; round++) {
    for (const place of sync) {
      place();
    }
    await later();
    for await (const value of stream()) {
      void value;
    }
    await new Promise((resolve) => setTimeout(() => { compare(); resolve(); }, 0));
    await new Promise((resolve) => process.nextTick(() => { compare(); resolve(); }));
    await new Promise((resolve) => fs.stat(__filename, () => { compare(); resolve(); }));
    if (round % 10 === 9 && global.gc) {
      global.gc();
    }
  }
  console.log(`${stacks} stacks, ${frames} frames, ${wrong} wrong; ${places} places compared, ${callLines} lines of calls, ` +
              `${unknownNames} frames whose name the function itself does not know`);
  process.exit(wrong === 0 && stacks > 0 ? 0 : 1);
})();
