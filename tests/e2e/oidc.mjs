// `recount serve` takes the tokens of a real OpenID provider, the npm package `oidc-provider`.
//
//   node oidc.mjs PROGRAM DIRECTORY
//
// It starts the provider on loopback and gets tokens by client credentials. The program, started in
// the directory with this issuer, must admit a token with its role, refuse one for another audience
// and one of a key that the provider does not have, and admit one of a new key after a rotation. A
// rotation is a restart of the provider with other keys, as it reads them at its start.

import {spawn} from 'node:child_process';
import {generateKeyPairSync} from 'node:crypto';
import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import process from 'node:process';
import {createInterface} from 'node:readline';

// The package of the current directory: this file is not beside it.
const {Provider} = createRequire(join(process.cwd(), 'main.js'))('oidc-provider');

const [program, directory] = process.argv.slice(2).map((it) => resolve(it));
const audiences = ['urn:recount', 'urn:billing'];
// The scope of a token is the claim that has its role.
const scopes = 'approve other';

function signingKey(kid, type, options, alg) {
  const {privateKey} = generateKeyPairSync(type, options);
  return {...privateKey.export({format: 'jwk'}), kid, alg, use: 'sig'};
}

function provider(issuer, keys) {
  return new Provider(issuer, {
    clients: [
      {
        client_id: 'approver',
        client_secret: 'not a secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: keys[0].alg,
      },
    ],
    jwks: {keys},
    scopes: scopes.split(' '),
    features: {
      devInteractions: {enabled: false},
      clientCredentials: {enabled: true},
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: {sign: {alg: keys[0].alg}},
        }),
      },
    },
  });
}

// A provider with these keys behind a server that stays.
const http = createServer((request, response) => handle(request, response));
http.listen(0, '127.0.0.1');
await once(http, 'listening');
const issuer = `http://127.0.0.1:${http.address().port}`;
let handle;
let fetches = 0;

function publish(keys) {
  const callback = provider(issuer, keys).callback();
  handle = (request, response) => {
    fetches += request.url === '/jwks' ? 1 : 0;
    callback(request, response);
  };
}

async function tokenFor(resource, scope = 'approve') {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa('approver:not%20a%20secret')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({grant_type: 'client_credentials', resource, scope}),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}

const config = `
journal = "journal"
[access.jwt]
issuer = "${issuer}"
audience = "${audiences[0]}"
jwks_url = "${issuer}/jwks"
refetch_after = "1ms"
roles_claim = "scope"
[[access.jwt.roles]]
value = "approve"
role = "approver"
agents = ["support"]
`;

function expect(what, found, expected) {
  const [one, other] = [found, expected].map((it) => JSON.stringify(it));
  if (one !== other) throw new Error(`${what}: expected ${other}, found ${one}`);
  console.log(`${what}: ${one}`);
}

async function main(service, ready) {
  const me = async (token) => {
    const headers = {authorization: `Bearer ${token}`};
    const response = await fetch(`${ready.url}/v1/me`, {headers});
    return {status: response.status, body: await response.json()};
  };
  const first = await tokenFor(audiences[0]);
  const admitted = await me(first);
  expect('a token of the provider', admitted.status, 200);
  const {actor, grants} = admitted.body;
  expect('its person', [actor.issuer, actor.name], [issuer, 'approver']);
  expect('its role', [grants[0].role, grants[0].agents], ['approver', ['support']]);
  const other = await me(await tokenFor(audiences[0], 'other'));
  expect('a scope without a role', other.body.grants, []);
  const foreign = await me(await tokenFor(audiences[1]));
  expect('another audience', [foreign.status, foreign.body.code], [401, 'unauthenticated']);
  expect('fetches of the keys', fetches, 1);
  const [head, claims, signature] = first.split('.');
  expect('an unsigned token', (await me(`${head}.${claims}.`)).status, 401);
  // The issuer might have another key under the same id.
  expect('fetches of the keys', fetches, 2);
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  expect('alg none', (await me(`${none}.${claims}.${signature}`)).status, 401);
  expect('fetches of the keys', fetches, 2);

  publish([newKey, oldKey]);
  const second = await tokenFor(audiences[0]);
  expect('the key of a new token', keyOf(second), newKey.kid);
  expect('a token of the new key', (await me(second)).status, 200);
  expect('a token of the old key', (await me(first)).status, 200);
  expect('fetches of the keys', fetches, 3);

  publish([lostKey]);
  const lost = await tokenFor(audiences[0]);
  publish([newKey]);
  expect('a token of a removed key', (await me(lost)).status, 401);
  expect('a token of the remaining key', (await me(second)).status, 200);
  service.kill('SIGTERM');
  const [code] = await once(service, 'exit');
  expect('the end of the service', code, 0);
}

function keyOf(token) {
  return JSON.parse(Buffer.from(token.split('.')[0], 'base64url')).kid;
}

const oldKey = signingKey('old', 'rsa', {modulusLength: 2048}, 'RS256');
const newKey = signingKey('new', 'ec', {namedCurve: 'P-256'}, 'ES256');
const lostKey = signingKey('lost', 'ec', {namedCurve: 'P-256'}, 'ES256');
publish([oldKey]);
mkdirSync(directory, {recursive: true});
writeFileSync(join(directory, 'recount.toml'), config);
const service = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--json'], {
  cwd: directory,
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const lines = createInterface({input: service.stdout});
  const [line] = await Promise.race([once(lines, 'line'), once(service, 'exit')]);
  if (typeof line !== 'string') throw new Error(`the service ended with ${line}`);
  await main(service, JSON.parse(line));
} finally {
  service.kill('SIGKILL');
  http.closeAllConnections();
  http.close();
}
