// SPDX-License-Identifier: Apache-2.0
// work.js SECONDS - a node program: compiled and interpreted code, regular expressions, JSON, zlib and crypto on the pool,
// an HTTP server and its clients in one process, sort callbacks, exceptions, garbage.
'use strict';
const http = require('http');
const zlib = require('zlib');
const crypto = require('crypto');
const ends = Date.now() + Number(process.argv[2]) * 1000;

function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

function compute() {
    const list = Array.from({length: 300}, (_, i) => ({n: (i * 7919) % 101, s: 'x'.repeat(i % 17)}));
    list.sort((a, b) => a.n - b.n);
    const text = JSON.stringify(list).replace(/"n":(\d+)/g, (_, n) => `"m":${n * 2}`);
    try { JSON.parse(text + '}'); } catch (error) { error.stack; }
    return fibonacci(15) + text.length;
}

const server = http.createServer((request, response) => {
    compute();
    zlib.gzip('text '.repeat(5000), (error, bytes) => response.end(bytes));
});

function ask() {
    if (Date.now() > ends) { server.close(); return; }
    http.get({port: server.address().port, host: '127.0.0.1', agent: false}, (response) => {
        response.on('data', () => {});
        response.on('end', () => { compute(); crypto.pbkdf2('a', 'b', 200, 32, 'sha256', () => setImmediate(ask)); });
    });
}
server.listen(0, '127.0.0.1', () => { ask(); ask(); });
