// handlers.js - one stall in each sort of handler, more than a second apart; the function in which it is says which sort.
'use strict';
const dgram = require('dgram');
const fs = require('fs');
const http = require('http');
const net = require('net');
const { Worker, isMainThread, parentPort } = require('worker_threads');

// After some 25 ms of work each it asks how much that was: tests/stalls/node/stalls.js says why not more often.
function busy() {
  const begin = process.cpuUsage().user;
  let total = 0, used = 0;
  for (let turns = 200000; used < 300000;) {
    for (let i = 0; i < turns; i++) {
      total = (total * 31 + i) % 1000003;
    }
    const now = process.cpuUsage().user - begin;
    turns *= now - used < 25000 ? 2 : 1;
    used = now;
  }
  return total;
}

const stalls = {
  inTimer: (done) => setTimeout(function inTimer() { busy(); done(); }, 10),
  inImmediate: (done) => setImmediate(function inImmediate() { busy(); done(); }),
  inTick: (done) => setTimeout(() => process.nextTick(function inTick() { busy(); done(); }), 10),
  inRequest: (done) => {
    const server = http.createServer(function inRequest(request, response) { busy(); response.end('fine'); });
    server.listen(0, '127.0.0.1', () => {
      http.get({ port: server.address().port }, (answer) => { answer.resume(); answer.on('end', () => { server.close(); done(); }); });
    });
  },
  inAnswer: (done) => {
    const server = http.createServer((request, response) => response.end('fine')).listen(0, '127.0.0.1', () => {
      http.get({ port: server.address().port }, function inAnswer(answer) { busy(); answer.resume(); server.close(); done(); });
    });
  },
  inConnection: (done) => {
    const server = net.createServer(function inConnection(socket) { busy(); socket.destroy(); server.close(); done(); });
    server.listen(0, '127.0.0.1', () => net.connect(server.address().port).on('error', () => {}));
  },
  inData: (done) => {
    const server = net.createServer((socket) => { socket.on('data', function inData() { busy(); socket.destroy(); server.close(); done(); }); });
    server.listen(0, '127.0.0.1', () => net.connect(server.address().port).on('error', () => {}).write('question'));
  },
  inDatagram: (done) => {
    const socket = dgram.createSocket('udp4');
    socket.on('message', function inDatagram() { busy(); socket.close(); done(); });
    socket.bind(0, '127.0.0.1', () => socket.send('question', socket.address().port, '127.0.0.1'));
  },
  inFile: (done) => fs.readFile(__filename, function inFile() { busy(); done(); }),
  inMessage: (done) => {
    const worker = new Worker(__filename);
    worker.on('message', function inMessage() { busy(); worker.terminate(); done(); });
  },
};

async function main() {
  for (let i = 0; i < 30; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const stall of Object.values(stalls)) {
    await new Promise(stall);
    await new Promise((resolve) => setTimeout(resolve, 1200));
  }
  process.exit(0);
}

if (isMainThread) {
  main();
} else {
  parentPort.postMessage('ready');
}
