// Node's HTTP/2 client as a sender of pushes: reads a job as JSON from standard input, prints its results as JSON.
//
//   {"url", "ca_file", "headers", "tokens", "body", "connections_max"}
//
// Unanswered pushes are sent again on a new connection, as Apple requires after a GOAWAY.
import { connect, constants } from 'node:http2';
import { readFileSync } from 'node:fs';

const job = JSON.parse(readFileSync(0));
const ca = readFileSync(job.ca_file);
const seen = { answers: {}, connections: 0, limits: [], goaways: [], refused: 0, errors: [] };

// Sends one push; undefined if the connection or the stream ended without an answer.
function push(session, token) {
  return new Promise((resolve) => {
    let status, id;
    const chunks = [];
    const stream = session.request({ ':method': 'POST', ':path': `/3/device/${token}`, ...job.headers });
    stream.on('response', (headers) => { status = headers[':status']; id = headers['apns-id']; });
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('error', (error) => seen.errors.push(error.code));
    stream.on('close', () => {
      if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) seen.refused += 1;
      if (status === undefined || stream.rstCode) return resolve(undefined);
      const body = Buffer.concat(chunks).toString();
      resolve({ status, id, ...(body ? JSON.parse(body) : {}) });
    });
    stream.end(job.body);
  });
}

// Sends as many pushes as it can over one connection; returns the unanswered ones.
async function overOneConnection(tokens) {
  seen.connections += 1;
  const session = connect(job.url, { ca });
  session.on('error', (error) => seen.errors.push(error.code));
  session.on('goaway', (code, last, data) => seen.goaways.push({ code, last, data: data?.toString() }));
  const closed = new Promise((resolve) => session.on('close', resolve));
  const settled = new Promise((resolve) => {
    session.on('remoteSettings', ({ maxConcurrentStreams }) => {
      seen.limits.push(maxConcurrentStreams);
      resolve();
    });
    session.on('close', resolve);
  });
  await settled;
  const unanswered = [];
  await Promise.all(tokens.map(async (token) => {
    const answer = session.closed || session.destroyed ? undefined : await push(session, token);
    if (answer) seen.answers[token] = answer; else unanswered.push(token);
  }));
  session.close();
  await closed;
  return unanswered;
}

let left = job.tokens;
while (left.length && seen.connections < (job.connections_max ?? 5)) left = await overOneConnection(left);
console.log(JSON.stringify({ ...seen, left }));
