// SPDX-License-Identifier: Apache-2.0
// node_gc.js - a loop with a big heap, and a message in which the collector runs again and again.
'use strict';
let heap = [];
for (let i = 0; i < 600000; i++) {
    heap.push({ i, text: 'x' + i, next: heap[i - 1] });
}
let n = 0;
const timer = setInterval(() => {
    if (++n === 10) {
        const until = Date.now() + 1200;
        while (Date.now() < until) {
            gc();
        }
    }
    if (n === 16) {
        clearInterval(timer);
        heap = null;
    }
}, 15);
