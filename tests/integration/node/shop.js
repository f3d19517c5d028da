// A stall to be told: a handler of a timer computes, below a call that V8 makes from native code.
'use strict';

function crunch(until) {
  let total = 0;
  const used = process.cpuUsage().user; // so much of a processor it wants, which a busy machine gives in a longer time
  while (Date.now() < until || process.cpuUsage().user - used < 150000) {
    for (let i = 0; i < 10000; i++) {
      total = (total * 31 + i) % 1000003;
    }
  }
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
