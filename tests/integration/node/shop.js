// A stall to be told: a handler of a timer computes, below a call that V8 makes from native code.
'use strict';

function crunch(until) {
  const wanted = process.cpuUsage().user + 150000; // so much of a processor, which a busy machine gives in a longer time
  let total = 0, left;
  do {
    while (Date.now() < until) {
      for (let i = 0; i < 10000; i++) {
        total = (total * 31 + i) % 1000003;
      }
    }
    left = wanted - process.cpuUsage().user; // asked rarely: tests/stalls/node/stalls.js says why
    until = Date.now() + left / 1000;
  } while (left > 0);
  return total;
}

class Shop {
  price(until) {
    // JavaScript, then C++ (the parser), then JavaScript.
    return JSON.parse('[1]', function reviver(key, value) {
      return key === '0' ? crunch(until) : value;
    });
  }
}

setTimeout(function handler() {
  new Shop().price(Date.now() + 350);
}, 100);
