// SPDX-License-Identifier: Apache-2.0
// hello.js - node's http server with a little work a request: parse the query, make JSON. usage: node hello.js PORT
const http = require('http');

http.createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  const body = JSON.stringify({path: url.pathname, name: url.searchParams.get('name') || 'world', when: Date.now(),
                               headers: Object.keys(request.headers).sort()});
  response.writeHead(200, {'content-type': 'application/json', 'content-length': Buffer.byteLength(body)});
  response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');
