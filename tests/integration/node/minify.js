// SPDX-License-Identifier: Apache-2.0
// minify.js SOURCE TARGET - what a bundler does, in small: all in one line, functions by other names, and TARGET.map that leads back.
'use strict';
const fs = require('fs'), path = require('path');
const [source, target] = process.argv.slice(2);
const names = ['crunch', 'handler', 'price'], digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
function number(value) {
    let text = '', rest = value < 0 ? (-value << 1) | 1 : value << 1;
    do {
        text += digits[(rest & 31) | (rest > 31 ? 32 : 0)];
        rest >>>= 5;
    } while (rest > 0);
    return text;
}
let made = '', segments = [], last = [0, 0, 0, 0];
function segment(line, column, name) {
    const now = [made.length, line, column, name >= 0 ? name : last[3]];
    let text = number(now[0] - last[0]) + number(0) + number(now[1] - last[1]) + number(now[2] - last[2]);
    segments.push(name >= 0 ? text + number(now[3] - last[3]) : text);
    last = now;
}
fs.readFileSync(source, 'utf8').split('\n').forEach((text, line) => {
    const code = text.replace(/^\s*\/\/.*/, '').replace(/\s\/\/ .*/, '');
    let at = code.length - code.trimStart().length;
    for (const part of code.trim().split(/\b/)) {
        const name = names.indexOf(part);
        segment(line, at, name);
        made += name >= 0 ? '_' + name : part;
        at += part.length;
    }
    made += made && code.trim() ? ' ' : '';
});
fs.mkdirSync(path.dirname(target), { recursive: true });
fs.writeFileSync(target, made + '\n//# sourceMappingURL=' + path.basename(target) + '.map\n');
fs.writeFileSync(target + '.map', JSON.stringify({ version: 3, sources: ['../src/' + path.basename(source)], names, mappings: segments.join(',') }));
