// A simulator of APNs that shares no code with the gateway: Node's http2, Apple's answers.
//
// Every request becomes one line of JSON in the log, written before its answer leaves, so that the log has
// every push whose answer the gateway can have seen. Prints {"port": N} when it listens.
//
//   --cert FILE --key FILE   the server's identity, PEM
//   --log FILE               the log (lines are appended)
//   --port N                 0: a free one
//   --with-parent            ends when standard input does
//   --verify FILE            public key, PEM: provider tokens must be signed by it
//   --gone-prefix HEX        tokens with this prefix are dead: 410 Unregistered    (default dead)
//   --gone-at MS             the timestamp of those 410s                           (default: now)
//   --bad-prefix HEX         tokens with this prefix get 400 BadDeviceToken        (default bad0)
//   --known-prefix HEX       if given, tokens with another prefix get 400 BadDeviceToken
//   --max-streams N          SETTINGS_MAX_CONCURRENT_STREAMS                       (default 1000)
//   --delay-ms N             the delay of each answer
//   --status N --reason R    the answer to every push
// Misbehaviour; N counts requests over all connections:
//   --drop-every N           every Nth request is never answered
//   --reset-every N          every Nth stream is reset with INTERNAL_ERROR, its request processed
//   --goaway-every N         sends GOAWAY on the connection of every Nth request, and answers accepted streams
//   --close-every N          cuts the connection of every Nth request without GOAWAY
//   --garbage-every N        writes bytes that are no frame into the connection of every Nth request
//   --half-frame-every N     writes half a frame and cuts the connection
//   --huge-header-every N    answers with a header of 40,000 bytes
//   --one-stream-after N     from the Nth request on, allows only one stream at a time
//   --silent                 accepts connections and never speaks HTTP/2
//   --stall-after N          from the Nth request on, answers nothing
import { constants, createServer } from 'node:http2';
import { createServer as createTLSServer } from 'node:tls';
import { Duplex } from 'node:stream';
import { openSync, readFileSync, writeSync } from 'node:fs';
import { verify } from 'node:crypto';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const { values: options } = parseArgs({
  options: {
    cert: text, key: text, log: text, port: text, 'with-parent': flag, verify: text,
    'gone-prefix': text, 'gone-at': text, 'bad-prefix': text, 'known-prefix': text,
    'max-streams': text, 'delay-ms': text, status: text, reason: text,
    'drop-every': text, 'reset-every': text, 'goaway-every': text, 'close-every': text, 'garbage-every': text,
    'half-frame-every': text, 'huge-header-every': text, 'one-stream-after': text, silent: flag, 'stall-after': text,
  },
});
const number = (name, otherwise = 0) => (options[name] === undefined ? otherwise : Number(options[name]));
const gonePrefix = options['gone-prefix'] ?? 'dead';
const badPrefix = options['bad-prefix'] ?? 'bad0';
const publicKey = options.verify && readFileSync(options.verify);
const log = openSync(options.log, 'a');
const note = (line) => writeSync(log, JSON.stringify(line) + '\n');

let connections = 0;
let requests = 0;

// Apple's answer to a malformed request; undefined if the request is well-formed.
function complaint(headers, path, body) {
  if (headers[':method'] !== 'POST') return [405, 'MethodNotAllowed'];
  const token = /^\/3\/device\/(.*)$/.exec(path)?.[1];
  if (token === undefined) return [404, 'BadPath'];
  if (token === '') return [400, 'MissingDeviceToken'];
  const authorization = authorizationComplaint(headers.authorization);
  if (authorization) return authorization;
  if (!headers['apns-topic']) return [400, 'MissingTopic'];
  const id = headers['apns-id'];
  if (id !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return [400, 'BadMessageId'];
  if (!/^\d*$/.test(headers['apns-expiration'] ?? '')) return [400, 'BadExpirationDate'];
  const priority = headers['apns-priority'] ?? '10';
  if (!['10', '5', '1'].includes(priority)) return [400, 'BadPriority'];
  if (headers['apns-push-type'] === 'background' && priority === '10') return [400, 'BadPriority'];
  if (!headers['apns-push-type']) return [400, 'InvalidPushType'];
  if (Buffer.byteLength(headers['apns-collapse-id'] ?? '') > 64) return [400, 'BadCollapseId'];
  if (body.length === 0) return [400, 'PayloadEmpty'];
  if (body.length > (headers['apns-push-type'] === 'voip' ? 5120 : 4096)) return [413, 'PayloadTooLarge'];
  if (!/^[0-9a-f]+$/i.test(token) || token.length % 2) return [400, 'BadDeviceToken'];
  return undefined;
}

function authorizationComplaint(value) {
  if (!value) return [403, 'MissingProviderToken'];
  const parts = /^bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(value);
  if (!parts) return [403, 'InvalidProviderToken'];
  try {
    const head = JSON.parse(Buffer.from(parts[1], 'base64url'));
    const claims = JSON.parse(Buffer.from(parts[2], 'base64url'));
    if (head.alg !== 'ES256' || !/^[A-Z0-9]{10}$/.test(head.kid) || !/^[A-Z0-9]{10}$/.test(claims.iss)) {
      return [403, 'InvalidProviderToken'];
    }
    if (Math.abs(Date.now() / 1000 - Number(claims.iat)) > 3600) return [403, 'ExpiredProviderToken'];
    if (publicKey) {
      const signature = Buffer.from(parts[3], 'base64url');
      const signed = Buffer.from(`${parts[1]}.${parts[2]}`);
      if (!verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)) {
        return [403, 'InvalidProviderToken'];
      }
    }
  } catch {
    return [403, 'InvalidProviderToken'];
  }
  return undefined;
}

function answerFor(headers, path, body) {
  const wrong = complaint(headers, path, body);
  if (wrong) return wrong;
  if (options.status) return [number('status'), options.reason ?? 'InternalServerError'];
  const token = path.slice('/3/device/'.length).toLowerCase();
  if (token.startsWith(gonePrefix)) return [410, 'Unregistered'];
  if (token.startsWith(badPrefix)) return [400, 'BadDeviceToken'];
  if (options['known-prefix'] && !token.startsWith(options['known-prefix'])) return [400, 'BadDeviceToken'];
  return [200, undefined];
}

// The misbehaviour for the Nth request, at most one.
function fateOf(count) {
  if (options['stall-after'] && count >= number('stall-after')) return 'dropped';
  const every = (name) => options[name] && count % number(name) === 0;
  if (every('drop-every')) return 'dropped';
  if (every('reset-every')) return 'reset';
  if (every('close-every')) return 'closed';
  if (every('garbage-every')) return 'garbage';
  if (every('half-frame-every')) return 'half-frame';
  if (every('huge-header-every')) return 'huge-header';
  if (every('goaway-every')) return 'goaway';
  return undefined;
}

// Node's own limit for headers forbids 64 KiB; no client accepts 40,000 bytes.
const hugeHeader = 'x'.repeat(40_000);
// A frame header that announces a DATA frame of 100 bytes on stream 1, and 10 of the bytes.
const halfFrame = Buffer.concat([Buffer.from([0, 0, 100, 0, 0, 0, 0, 0, 1]), Buffer.alloc(10)]);
const garbage = Buffer.alloc(64, 0xfe);

function handle(stream, headers, body) {
  const count = ++requests;
  const session = stream.session;
  const { number: connection, socket } = session?.carillon ?? {};
  const path = headers[':path'];
  const [status, reason] = answerFor(headers, path, body);
  const fate = fateOf(count);
  const isUnanswered = ['dropped', 'reset', 'closed', 'garbage', 'half-frame'].includes(fate);
  let payload;
  try { payload = JSON.parse(body); } catch { payload = undefined; }
  note({
    at: Date.now(), connection, stream: stream.id, token: path.slice('/3/device/'.length), id: headers['apns-id'],
    topic: headers['apns-topic'], pushType: headers['apns-push-type'], priority: headers['apns-priority'],
    expiration: headers['apns-expiration'], collapseID: headers['apns-collapse-id'], badge: payload?.aps?.badge,
    value: payload?.d,
    status: isUnanswered ? 0 : status, reason: isUnanswered ? fate : reason,
  });
  if (options['one-stream-after'] && count === number('one-stream-after')) {
    session?.settings({ maxConcurrentStreams: 1 });
  }
  const answer = () => {
    if (stream.destroyed) return;
    const response = { ':status': status };
    if (headers['apns-id']) response['apns-id'] = headers['apns-id'];
    if (fate === 'huge-header') response['x-huge'] = hugeHeader;
    stream.respond(response);
    if (status === 200) return stream.end();
    const words = { reason };
    if (status === 410) words.timestamp = number('gone-at', Date.now());
    stream.end(JSON.stringify(words));
  };
  switch (fate) {
    case 'dropped': return;
    case 'reset': return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    case 'closed': return socket.destroy();
    case 'garbage': return void socket.write(garbage);
    case 'half-frame': return void socket.write(halfFrame, () => socket.destroy());
    case 'goaway': session.close(); // GOAWAY with the last accepted stream; accepted streams are still answered.
  }
  const delay = number('delay-ms');
  if (delay) setTimeout(answer, delay); else answer();
}

// Node's HTTP/2 uses a stream of ours, so that other bytes can be written to the socket too.
function wireOver(socket) {
  const wire = new Duplex({
    read() { socket.resume(); },
    write(chunk, _, done) { if (socket.destroyed) done(); else socket.write(chunk, () => done()); },
    final(done) { socket.end(() => done()); },
    destroy(_, done) { socket.destroy(); done(null); },
  });
  socket.on('data', (chunk) => { if (!wire.push(chunk)) socket.pause(); });
  socket.on('end', () => wire.push(null));
  socket.on('close', () => wire.destroy());
  return wire;
}

const protocol = createServer({ settings: { maxConcurrentStreams: number('max-streams', 1000) } });
let acceptedSocket;
protocol.on('session', (session) => {
  session.carillon = { number: ++connections, socket: acceptedSocket };
  session.on('error', () => {});
});
protocol.on('sessionError', () => {});
protocol.on('stream', (stream, headers) => {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('end', () => handle(stream, headers, Buffer.concat(chunks)));
  stream.on('error', () => {});
});

const identity = { cert: readFileSync(options.cert), key: readFileSync(options.key), ALPNProtocols: ['h2'] };
const server = createTLSServer(identity, (socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  if (options.silent) return;
  acceptedSocket = socket;
  protocol.emit('connection', wireOver(socket));
});
server.on('tlsClientError', () => {});
if (options['with-parent']) {
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
}
server.listen(number('port'), '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
