// A simulator of FCM and its OAuth that shares no code with the gateway: Node's http2, Google's answers.
//
// Every request becomes one line of JSON in the log, written before its answer leaves. Prints {"port": N} when it
// listens. Tokens that begin with "gone" are unregistered; those that begin with "busy" are answered 503 the first time.
//
//   --cert FILE --key FILE   the server's identity, PEM
//   --log FILE               the log (lines are appended)
//   --verify FILE            public key, PEM: assertions must be signed by it
//   --account EMAIL          the only account
//   --key-id ID              the id of its key
//   --project ID             the only project
import { createSecureServer } from 'node:http2';
import { openSync, readFileSync, writeSync } from 'node:fs';
import { randomBytes, verify } from 'node:crypto';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: { cert: text, key: text, log: text, verify: text, account: text, 'key-id': text, project: text },
});
const publicKey = readFileSync(options.verify);
const log = openSync(options.log, 'a');
const note = (line) => writeSync(log, JSON.stringify(line) + '\n');
const scopes = ['https://www.googleapis.com/auth/firebase.messaging', 'https://www.googleapis.com/auth/cloud-platform'];
const issued = new Set();
const busy = new Set();

const json = (status, body) => ({ status, body: JSON.stringify(body), type: 'application/json; charset=UTF-8' });
const failure = (code, status, message, errorCode) => json(code, {
  error: {
    code, message, status,
    ...(errorCode && {
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
    }),
  },
});
const refusedGrant = (description) => json(400, { error: 'invalid_grant', error_description: description });

// RFC 7523, in the form that Google requires.
function accessToken(headers, body, url) {
  if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
    return json(400, { error: 'invalid_request', error_description: 'no form' });
  }
  const form = new URLSearchParams(body);
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
    return json(400, { error: 'unsupported_grant_type', error_description: 'Invalid grant_type' });
  }
  const [head, claims, signature, ...more] = (form.get('assertion') ?? '').split('.');
  if (!signature || more.length) return refusedGrant('no JWT');
  const said = JSON.parse(Buffer.from(head, 'base64url'));
  const claimed = JSON.parse(Buffer.from(claims, 'base64url'));
  note({ claims: claimed, head: said });
  if (said.alg !== 'RS256' || said.kid !== options['key-id']) return refusedGrant('another key');
  if (!verify('sha256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))) {
    return refusedGrant('Invalid JWT Signature.');
  }
  const now = Date.now() / 1000;
  if (claimed.iss !== options.account || 'sub' in claimed) return refusedGrant('another account');
  if (claimed.aud !== url) return refusedGrant('Invalid JWT: Failed audience check.');
  if (!(claimed.exp - claimed.iat <= 3600 && claimed.exp > now && Math.abs(claimed.iat - now) < 300)) {
    return refusedGrant('Invalid JWT: Token must be a short-lived token');
  }
  if (!claimed.scope?.split(' ').some((one) => scopes.includes(one))) {
    return json(400, { error: 'invalid_scope', error_description: 'no scope of messaging' });
  }
  // These are as long as real ones may be, with dots at the end.
  const token = `ya29.${randomBytes(600).toString('base64url')}.....`;
  issued.add(token);
  return json(200, { access_token: token, expires_in: 3599, token_type: 'Bearer' });
}

function send(headers, body, project) {
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (!issued.has(bearer)) {
    return failure(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
  }
  if (project !== options.project) return failure(404, 'NOT_FOUND', 'Requested entity was not found.');
  if (!headers['content-type']?.startsWith('application/json')) {
    return failure(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.');
  }
  const { message, validate_only: isDry } = JSON.parse(body);
  const targets = ['token', 'fid', 'topic', 'condition'].filter((name) => message?.[name] !== undefined);
  if (targets.length !== 1) return failure(400, 'INVALID_ARGUMENT', 'Exactly one target.');
  if (Object.values(message.data ?? {}).some((value) => typeof value !== 'string')) {
    return failure(400, 'INVALID_ARGUMENT', 'data: texts only');
  }
  if (message.token?.startsWith('gone')) {
    return failure(404, 'NOT_FOUND', 'Requested entity was not found.', 'UNREGISTERED');
  }
  if (message.token?.startsWith('busy') && !busy.has(message.token)) {
    busy.add(message.token);
    return { ...failure(503, 'UNAVAILABLE', 'The service is currently unavailable.', 'UNAVAILABLE'), after: '1' };
  }
  return json(200, { name: `projects/${project}/messages/${isDry ? 'fake_message_id' : randomBytes(8).toString('hex')}` });
}

function answerFor(headers, body, url) {
  const path = headers[':path'];
  if (headers[':method'] === 'POST' && path === '/token') return accessToken(headers, body, url + path);
  const project = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(path)?.[1];
  if (headers[':method'] === 'POST' && project) return send(headers, body, project);
  return { status: 404, body: '<!DOCTYPE html><title>Error 404</title>', type: 'text/html; charset=UTF-8' };
}

const server = createSecureServer({
  cert: readFileSync(options.cert), key: readFileSync(options.key), allowHTTP1: true,
});
server.on('sessionError', () => {});
server.on('request', (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const headers = {
      ':method': request.method, ':path': request.url, ...request.headers,
    };
    const body = Buffer.concat(chunks).toString();
    let answer;
    try {
      answer = answerFor(headers, body, `https://localhost:${server.address().port}`);
    } catch (error) {
      answer = failure(400, 'INVALID_ARGUMENT', String(error));
    }
    const { authorization, ...shown } = headers;
    note({
      version: request.httpVersion, headers: shown, body: headers[':path'] === '/token' ? undefined : body,
      status: answer.status,
    });
    response.writeHead(answer.status, {
      'content-type': answer.type, ...(answer.after && { 'retry-after': answer.after }),
    });
    response.end(answer.body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
