// SPDX-License-Identifier: Apache-2.0
// stalls.js CASE - one stall in a handler of node's loop, as truth.tsv says it.
'use strict';
const childProcess = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const zlib = require('zlib');
const { Worker, isMainThread, workerData } = require('worker_threads');

const MS = Number(process.env.STALL_MS) || 700;

// What a busy machine gives in that time may be a few milliseconds, in which one look at most finds out what runs: so it goes on until it has had this.
const CPU_US = 150000;

// What it has had is asked when it may be enough, and not all the time: with each answer the kernel looks whether the thread's slice is over, which then ends between
// two of the scheduler's ticks; so hardly a tick meets the thread on a busy machine, and samples of what runs are taken in ticks.
function until(work, cpuUs = CPU_US) {
  const wanted = process.cpuUsage().user + cpuUs;
  let end = Date.now() + MS, left, result;
  do {
    do {
      result = work();
    } while (Date.now() < end);
    left = wanted - process.cpuUsage().user;
    end = Date.now() + left / 1000;
  } while (left > 0);
  return result;
}

function sumOrders() {
  let total = 0;
  for (let order = 0; order < 200000; order++) {
    total = (total * 31 + order) % 1000003;
  }
  return total;
}

function summarizeOrders() {
  return until(sumOrders);
}

function countWays(steps) {
  return steps < 2 ? 1 : countWays(steps - 1) + countWays(steps - 2);
}

function enumeratePaths() {
  return until(function oneCount() { return countWays(22); });
}

function matchAddress() {
  return until(function oneMatch() { return /^(a+)+$/.test('a'.repeat(20) + 'b'); });
}

const catalogue = JSON.stringify(Array.from({ length: 5000 }, (unused, i) => ({ name: 'n' + i, price: i, tags: ['a', 'b'] })));

function loadCatalogue() {
  return until(function oneParse() { return JSON.parse(catalogue); });
}

const parsed = JSON.parse(catalogue);

function saveCatalogue() {
  return until(function oneSave() { return JSON.stringify(parsed); });
}

// Somebody else opens the other end late.
function readConfig(folder) {
  const fifo = path.join(folder, 'config');
  childProcess.execFileSync('mkfifo', [fifo]);
  childProcess.spawn('sh', ['-c', `sleep ${MS / 1000}; echo done > "${fifo}"`], { stdio: 'ignore' });
  return () => readLate(fifo);
}

function readLate(fifo) {
  return fs.readFileSync(fifo, 'utf8');
}

function runConverter() {
  return childProcess.execSync(`sleep ${MS / 1000}`);
}

function runTool() {
  return childProcess.spawnSync('sleep', [String(MS / 1000)]);
}

function checkPassword() {
  return until(function oneCheck() { return crypto.pbkdf2Sync('password', 'salt', 50000, 32, 'sha256'); });
}

function packBackup() {
  const text = Buffer.from(catalogue);
  return until(function onePack() { return zlib.gzipSync(text); });
}

async function takeOne(i) {
  let sum = 0;
  for (let k = 0; k < 200; k++) {
    sum += k * i;
  }
  return sum;
}

// Promises go before everything else: the loop does not turn while there are some.
async function drainQueue() {
  const end = Date.now() + MS;
  for (let i = 0; Date.now() < end; i++) {
    await takeOne(i);
  }
}

function publishNext(end) {
  sumOrders();
  if (Date.now() < end) {
    process.nextTick(publishNext, end);
  }
}

function publishAll() {
  publishNext(Date.now() + MS);
}

const kept = [];

function fillCache() {
  for (let i = 0; i < 20000; i++) {
    kept.push({ i, text: 'x' + i, next: kept[kept.length - 1] });
  }
}

function dropCache() {
  return until(function oneDrop() { return global.gc(); });
}

// The worker has the answer late.
function askWorker() {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(__filename, { workerData: shared });
  return new Promise((resolve) => worker.once('message', () => resolve(() => waitForAnswer(shared, worker))));
}

function waitForAnswer(shared, worker) {
  worker.postMessage('go');
  Atomics.wait(shared, 0, 0);
}

function findAnswer(end) {
  let total = 0;
  while (Date.now() < end) {
    total += sumOrders();
  }
  return total;
}

function syncJournal(folder) {
  const file = fs.openSync(path.join(folder, 'journal'), 'w'), block = Buffer.alloc(65536);
  until(function oneEntry() {
    fs.writeSync(file, block);
    fs.fsyncSync(file);
  }, 0); // it waits
  fs.closeSync(file);
}

function* renderRows(rows) {
  for (let row = 0; row < rows; row++) {
    yield row * sumOrders();
  }
}

function renderPage() {
  return until(function onePage() { return [...renderRows(3)].length; });
}

function byPrice(a, b) {
  let rank = 0;
  for (let i = 0; i < 20; i++) {
    rank += (a.price * i) % 7 - (b.price * i) % 7;
  }
  return rank;
}

function sortCatalogue() {
  return until(function oneSort() { return [...parsed].sort(byPrice); });
}

class Template {
  #parts = Array.from({ length: 50 }, (unused, i) => 'part' + i);
  render() {
    let text = '';
    for (let i = 0; i < 3000; i++) {
      text = this.#parts.map((part) => part.toUpperCase()).join('-');
    }
    return text;
  }
}

function renderTemplate() {
  const template = new Template();
  return until(function oneRender() { return template.render(); });
}

function hashFiles() {
  const block = Buffer.alloc(1 << 20);
  return until(function oneHash() { return crypto.createHash('sha256').update(block).digest('hex'); });
}

function renderOrder(request, response) {
  summarizeOrders();
  response.end('done');
}

function serveOrder() {
  const server = http.createServer(renderOrder);
  server.listen(0, '127.0.0.1', () => {
    http.get({ port: server.address().port, agent: false }, (answer) => answer.resume().on('end', () => server.close()));
  });
}

// Asynchronous functions that await the one that stalls.
async function resizePhoto() {
  await fs.promises.readFile(__filename);
  summarizeOrders();
}

async function renderThumbnail() {
  await resizePhoto();
}

async function renderAlbum() {
  await Promise.all([fs.promises.readFile(__filename), renderThumbnail()]);
}

async function showAlbum() {
  await renderAlbum().finally(() => {});
}

// What is put off, and by whom.
let finish;

function queued(start) {
  return () => new Promise((resolve) => {
    finish = resolve;
    start();
  });
}

function expireCart() {
  summarizeOrders();
  finish();
}

function openCart() {
  setTimeout(expireCart, 30);
}

let polls = 0, poll;

function pollPrices() {
  if (++polls === 3) {
    clearInterval(poll);
    summarizeOrders();
    finish();
  }
}

function followPrices() {
  poll = setInterval(pollPrices, 20);
}

function checkStock() {
  const end = Date.now() + 60;
  while (Date.now() < end) {
    sumOrders();
  }
}

function confirmOrder() {
  summarizeOrders();
  finish();
}

function acceptOrder() {
  checkStock();
  setImmediate(confirmOrder);
}

function receiveOrder() {
  setTimeout(acceptOrder, 20);
}

function bookPayment() {
  summarizeOrders();
  finish();
}

function acceptPayment() {
  checkStock();
  process.nextTick(bookPayment);
}

function receivePayment() {
  setTimeout(acceptPayment, 20);
}

// All that can be put off, and nothing of it slow.
async function queueMuch() {
  const interval = setInterval(() => {}, 1);
  for (let i = 0; i < 40; i++) {
    for (let k = 0; k < 50; k++) {
      setTimeout(() => {}, k);
      clearTimeout(setTimeout(() => {}, 5));
      setImmediate(() => process.nextTick(() => {}));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  clearInterval(interval);
}

const work = fs.mkdtempSync(path.join(process.env.STALLS_DISK || os.tmpdir(), 'stalls-node-'));
const cases = {
  compute: summarizeOrders,
  recursion: enumeratePaths,
  regex: matchAddress,
  json_parse: loadCatalogue,
  json_stringify: saveCatalogue,
  fifo: null,
  exec_sync: runConverter,
  spawn_sync: runTool,
  pbkdf2: checkPassword,
  gzip: packBackup,
  promises: drainQueue,
  next_ticks: publishAll,
  gc: dropCache,
  worker: null,
  fsync: () => syncJournal(work),
  generator: renderPage,
  sort: sortCatalogue,
  method: renderTemplate,
  hash: hashFiles,
  http: serveOrder,
  awaited: showAlbum,
  timeout: queued(openCart),
  interval: queued(followPrices),
  immediate: queued(receiveOrder),
  next_tick: queued(receivePayment),
};

async function main(name) {
  for (let i = 0; i < 6; i++) {
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  if (name === 'gc') {
    for (let i = 0; i < 20; i++) {
      fillCache();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const ask = name === 'worker' ? await askWorker() : name === 'fifo' ? readConfig(work) : cases[name];
  if (name === 'healthy') {
    for (let i = 0; i < 30; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      sumOrders();
    }
    await queueMuch();
    const server = http.createServer((request, response) => response.end('fine')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    await new Promise((resolve) => childProcess.exec('sleep 0.6', resolve));
    await fs.promises.readFile(__filename);
    server.close();
  } else {
    await new Promise((resolve) => setTimeout(() => { Promise.resolve(ask()).then(resolve); }, 20));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  if (name !== 'http') {
    fs.rmSync(work, { recursive: true });
    process.exit(0);
  }
  process.on('exit', () => fs.rmSync(work, { recursive: true }));
}

if (isMainThread) {
  main(process.argv[2]);
} else {
  const { parentPort } = require('worker_threads');
  fs.rmSync(work, { recursive: true });
  parentPort.once('message', () => {
    findAnswer(Date.now() + MS);
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });
  parentPort.postMessage('ready');
}
