// SPDX-License-Identifier: Apache-2.0
// queued.js [--expect] - timers, immediates and ticks that stall, more than a second apart, and who queued each: as JSON, the function that stalls and those that
// may be named (null: nobody).
'use strict';

// After some 25 ms of work each it asks how much that was: tests/stalls/node/stalls.js says why not more often.
function busy(ms) {
  const begin = process.cpuUsage().user;
  let total = 0, used = 0;
  for (let turns = 200000; used < ms * 1000;) {
    for (let i = 0; i < turns; i++) {
      total = (total * 31 + i) % 1000003;
    }
    const now = process.cpuUsage().user - begin;
    turns *= now - used < 25000 ? 2 : 1;
    used = now;
  }
  return total;
}

let finish;

function stall() {
  busy(300);
  finish();
}

function run_timeout() { stall(); }
function openCart() { setTimeout(run_timeout, 60); }

function run_first() { stall(); }
function setFirst() { setTimeout(run_first, 1500); }
function run_second() { busy(300); }
function setSecond() { setTimeout(run_second, 40); }

function run_kept() { stall(); }
function setDropped() { return setTimeout(run_kept, 50); }
function setKept() { setTimeout(run_kept, 50); }

let turns = 0;
function run_interval() {
  if (++turns === 3) {
    clearInterval(interval);
    stall();
  }
}
let interval;
function startPolling() { interval = setInterval(run_interval, 30); }

function run_immediate() { stall(); }
function onOrder() { busy(60); setImmediate(run_immediate); }
function takeOrder() { setTimeout(onOrder, 10); }

function run_tick() { stall(); }
function onPayment() { busy(60); process.nextTick(run_tick); }
function takePayment() { setTimeout(onPayment, 10); }

function run_unseen() { stall(); }
function passOn() { setImmediate(run_unseen); }
function takeUnseen() { setTimeout(passOn, 10); }

function run_continued() { stall(); }
async function takeContinued() {
  await new Promise((resolve) => setTimeout(resolve, 30));
  run_continued();
}

function run_crowded() { stall(); }
function setCrowded() { setTimeout(run_crowded, 40); }
function setCrowd() {
  setCrowded();
  for (let i = 0; i < 30; i++) {
    setTimeout(() => {}, 40);
  }
}

const expected = {
  run_timeout: ['openCart'],
  run_first: ['setFirst'],
  run_second: ['setSecond'],
  run_kept: ['setKept'],
  run_interval: ['startPolling'],
  run_immediate: ['onOrder'],
  run_tick: ['onPayment'],
  run_unseen: [null, 'passOn'],
  run_continued: [null],
  run_crowded: ['setCrowded'],
};

const starts = [
  openCart,
  () => { setFirst(); setSecond(); },
  () => { clearTimeout(setDropped()); setKept(); },
  startPolling,
  takeOrder,
  takePayment,
  takeUnseen,
  takeContinued,
  setCrowd,
];

async function main() {
  for (let i = 0; i < 30; i++) { // until the recorder knows the loop
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const start of starts) {
    await new Promise((resolve) => {
      finish = resolve;
      start();
    });
    await new Promise((resolve) => setTimeout(resolve, 1200));
  }
}

if (process.argv[2] === '--expect') {
  console.log(JSON.stringify(expected));
} else {
  main();
}
