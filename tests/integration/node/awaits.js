// awaits.js MODULE [ROUNDS] - asynchronous functions that await each other in all sorts of ways: are those that we read as awaiting what runs those that V8
// tells ("at async f" of an Error's stack)?
'use strict';
const native = { exports: {} };
process.dlopen(native, process.argv[2]);
const { awaits } = native.exports;
if (!awaits) {
  process.exit(1);
}
const rounds = Number(process.argv[3] || 20);
Error.stackTraceLimit = 200;
const MOST = 64; // that are told

let questions = 0, functions = 0, wrong = 0;
const cases = new Map(), shown = new Set();

function theirs() {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (error, sites) => sites;
  const sites = new Error().stack;
  Error.prepareStackTrace = before;
  return sites.filter((site) => site.isAsync() && !(site.isPromiseAll && site.isPromiseAll()) && !(site.isPromiseAny && site.isPromiseAny()) && (site.getFileName() || site.isEval()))
    .map((site) => [site.getFunctionName(), site.getLineNumber()]).slice(0, MOST);
}

// Asks V8 first: that makes its tables of lines.
function ask(name) {
  const its = theirs();
  let mine = awaits();
  for (let turn = 0; turn < 20 && mine.some((one) => one[1] === 0); turn++) {
    mine = awaits(); // lines are counted in parts
  }
  questions++;
  functions += its.length;
  cases.set(name, (cases.get(name) || 0) + its.length);
  const isSame = mine.length === its.length && mine.every(([function_, line, isId], i) => isId && line === its[i][1] &&
    (function_ === its[i][0] || function_.endsWith('.' + its[i][0]) || (its[i][0] || '').endsWith('.' + function_) || its[i][0] === null || its[i][0] === 'eval'));
  if (!isSame) {
    wrong++;
    const text = `${name}\n  ours:   ${mine.map((one) => one.join(':')).join(' < ')}\n  theirs: ${its.map((one) => one.join(':')).join(' < ')}`;
    if (shown.size < 5 && !shown.has(text)) {
      shown.add(text);
      console.log(text);
    }
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function leaf(name) {
  ask(name); // called straight: awaited by nobody yet
  await null;
  ask(name);
  await turn();
  ask(name);
  deeper(name, 5);
}
function deeper(name, n) { return n === 0 ? ask(name) : deeper(name, n - 1); }
async function middle(name) {
  await turn();
  return await leaf(name);
}
async function outer(name) {
  const value = await middle(name);
  return value;
}
async function returns(name) { // no frame of its own: it awaits nothing any more
  return leaf(name);
}
async function recursive(name, n) { await null; return n === 0 ? await leaf(name) : await recursive(name, n - 1); }
class Shop {
  async pay(name) { await leaf(name); }
  static async open(name) { await new Shop().pay(name); }
  #secret = async (name) => { await leaf(name); };
  async hidden(name) { await this.#secret(name); }
}
async function* values(name) {
  yield 1;
  await leaf(name);
  yield 2;
}
async function over(name) { for await (const value of values(name)) { void value; } }
async function inTry(name) {
  try {
    await leaf(name);
    throw new Error('x');
  } catch {
    await leaf(name);
  } finally {
    await leaf(name);
  }
}
async function twice(name) { // of two that await one nobody is told
  const one = leaf(name);
  await Promise.allSettled([(async () => { await one; })(), (async () => { await one; })()]);
}

async function closure(name) { // a script's own closure may have anything where V8's have what awaits
  const generator = values(name), pending = new Promise(() => {});
  await outer(name).then(() => [generator, pending]);
  await generator.return();
}

async function main() {
  for (let round = 0; round < rounds; round++) {
    await outer('three');
    await returns('returned');
    await recursive('recursion', 10);
    await recursive('deep recursion', 80);
    await Shop.open('methods');
    await new Shop().hidden('arrow');
    await over('asynchronous generator');
    await inTry('try');
    await twice('two that await');
    await Promise.all([outer('all'), leaf('all')]);
    await Promise.any([outer('any')]);
    await Promise.allSettled([outer('all settled')]);
    await outer('then').then(() => 1);
    await outer('finally').finally(() => 1);
    await Promise.race([outer('race')]);
    await closure('closures');
    await new Promise((resolve) => { setTimeout(() => { ask('timer'); resolve(); }, 0); });
    await new Promise((resolve) => { process.nextTick(() => { ask('tick'); resolve(); }); });
    await Promise.resolve().then(() => ask('derived'));
    await Promise.resolve().then(() => leaf('thenable'));
    await (async () => { await leaf('anonymous'); })();
    await eval('(async () => { await leaf("eval"); })()');
    if (round % 5 === 4 && global.gc) {
      global.gc();
    }
  }
  const told = [...cases.values()].filter((count) => count > 0).length;
  console.log(`${questions} questions in ${cases.size} cases, ${functions} functions that awaited, ${wrong} wrong`);
  process.exit(wrong === 0 && cases.size >= 20 && told >= 14 ? 0 : 1);
}
main();
