import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isServed } from './builds/program.ts'
import { ROOT } from './launch.ts'
import type { Operation } from './openapi.ts'

/** A role of contract section 1 that a scoped token can hold. */
export type TokenRole = 'viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin'

/**
 * What a route asks for at least; `none` needs no credential. `bootstrap` is an unused bootstrap token, `node` the certificate of a
 * node: neither is held by any role.
 */
type Minimum = TokenRole | 'none' | 'bootstrap' | 'node'

/** One route as the contract has it. Typed from contract section 1 and the specification's endpoint table. */
export interface ContractRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly minimum: Minimum
  /** A request that is well formed, so that only the credential decides whether it is let in. */
  readonly sample: { readonly path: string; readonly body?: unknown }
  /** What that request answers once it is let in, on a new node in lab mode. */
  readonly welcome: number
}

const NODE = '00000000-0000-4000-8000-000000000000'
/** The hash of no subscriber. */
const NOBODY = 'ffffffffffff'
const NO_ALERT = 'a-0123456789abcdef'
const HEARTBEAT = { node_id: NODE, at: '2026-01-01T00:00:00.000Z', seq: 1, components: [] }
const CHANNELS = { technology: 'lte', channels: [1300] }

/** What stands in places of paths: by what is before a place, or else by its name. Nothing of a new node has such a name. */
const PLACES: Readonly<Record<string, string>> = {
  ...{ id: NODE, imsi: NOBODY, name: 'nobody', token: 'e-0', passkey: 'nobody', serial: '0', key: 'nothing' },
  ...{ alerts: NO_ALERT, peers: 'p-0', documents: 'd-000000000000', profiles: 'none' },
  ...{ certs: '0'.repeat(64), providers: 'nobody', passkeys: 'nobody' },
}

/** What phones call. SGP.22 §5.6. */
const ES9 = [
  'initiateAuthentication',
  'authenticateClient',
  'getBoundProfilePackage',
  'handleNotification',
  'cancelSession',
] as const

/** Every route of all packages. A route that the service serves and that is missing here fails the matrix. */
const ROUTES_OF_ALL: readonly ContractRoute[] = [
  open('/v1/healthz'),
  open('/v1/version'),
  { ...open('/v1/texts/{language}'), sample: { path: '/v1/texts/de' } },
  open('/v1/openapi.json'),
  open('/v1/docs'),
  { ...open('/docs'), welcome: 302 },
  { ...open('/docs/{page}'), sample: { path: '/docs/index.html' } },
  { ...open('/docs/{folder}/{page}'), sample: { path: '/docs/how-to/sims.html' } },
  open('/'),
  { ...open('/console-files/{file}'), sample: { path: '/console-files/index.html' } },
  ...moduleRoutes(),
  // Restricted by network scope instead; the tests come from loopback, which is inside.
  open('/metrics'),
  read('/v1/status', 'viewer'),
  read('/v1/health', 'viewer'),
  read('/v1/incidents', 'viewer'),
  read('/v1/nodes', 'viewer'),
  read('/v1/nodes/{id}/enroll', 'viewer', 404),
  read('/v1/nodes/{id}/leave', 'viewer', 404),
  change('POST', '/v1/nodes/{id}/enroll', 'bootstrap', 400, {}),
  change('POST', '/v1/nodes/{id}/leave', 'admin', 404, {}),
  open('/v1/mesh/ca'),
  open('/v1/mesh/challenge'),
  open('/v1/mesh/crl'),
  gate('/v1/mesh/renew', { body: {} }, 400),
  read('/v1/alerts', 'viewer'),
  read('/v1/alerts/webhooks', 'viewer'),
  read('/v1/alerts/receivers', 'viewer'),
  change('POST', '/v1/alerts/receivers', 'admin', 400, {}),
  change('PUT', '/v1/alerts/receivers/{name}', 'admin', 404, {}),
  change('DELETE', '/v1/alerts/receivers/{name}', 'admin', 404),
  change('POST', '/v1/alerts/receivers/{name}/test', 'operator', 404, {}),
  change('POST', '/v1/alerts/{id}/ack', 'operator', 404, {}),
  change('POST', '/v1/alerts/{id}/silence', 'operator', 404, { until: null }),
  change('POST', '/v1/alerts/webhooks/test', 'operator', 404, { webhook: 'nobody' }),
  read('/v1/mesh/members', 'operator'),
  read('/v1/mesh/backhaul', 'viewer'),
  read('/v1/groups', 'operator'),
  read('/v1/groups/{name}', 'operator', 404),
  change('PUT', '/v1/groups/{name}', 'admin', 400, {}),
  change('DELETE', '/v1/groups/{name}', 'admin', 404, undefined, '/v1/groups/none'),
  change('POST', '/v1/groups/{name}/invitations', 'admin', 400, {}),
  change(
    'DELETE',
    '/v1/groups/{name}/invitations/{person}',
    'admin',
    404,
    undefined,
    '/v1/groups/none/invitations/ada',
  ),
  read('/v1/desired-state', 'operator'),
  read('/v1/desired-state/{id}', 'operator', 404),
  change('PUT', '/v1/desired-state/{id}/report', 'node', 200, {
    ...{ version: 0, digest: '', permitted: [], parts: [] },
  }),
  read('/v1/steering', 'admin'),
  // A box without a hub permits nobody anything.
  change('PUT', '/v1/steering', 'admin', 409, { permitted: [] }),
  read('/v1/software', 'operator'),
  read('/v1/software/{build}', 'operator', 400),
  read('/v1/software/{build}/octets', 'operator', 400),
  // Nothing has started it that would start another build.
  change('PUT', '/v1/software', 'admin', 409, { build: '0a1b2c3d4e5f' }),
  change('PUT', '/v1/mesh/members/{id}/wireguard', 'node', 400, {}),
  // Other boxes join over TLS alone, and this node serves none.
  change('POST', '/v1/mesh/invite', 'admin', 409, {}),
  change('POST', '/v1/mesh/join', 'admin', 400, {}),
  change('POST', '/v1/mesh/root-address', 'admin', 400, {}),
  change('POST', '/v1/mesh/take-root', 'admin', 409, {}),
  change('POST', '/v1/mesh/sims/find', 'operator', 200, { q: 'nobody' }),
  change('POST', '/v1/mesh/sims/asked', 'node', 403, { q: 'nobody' }),
  read('/v1/peers', 'viewer'),
  read('/v1/peers/self', 'viewer'),
  read('/v1/peers/{id}', 'viewer', 404),
  change('POST', '/v1/peers', 'operator', 400, {}),
  change('DELETE', '/v1/peers/{id}', 'operator', 404),
  change('POST', '/v1/peers/{id}/accept', 'operator', 404, {}),
  change('POST', '/v1/peers/{id}/approve', 'operator', 400, {}),
  change('POST', '/v1/peers/{id}/rotate', 'operator', 400, {}),
  change('POST', '/v1/peers/rotate', 'operator', 400, { force: 'no' }),
  read('/v1/events', 'viewer'),
  read('/v1/clock', 'viewer'),
  read('/v1/policy', 'viewer'),
  read('/v1/policy/license/documents', 'viewer'),
  read('/v1/policy/license/documents/{id}', 'operator', 404),
  read('/v1/policy/license/signed', 'viewer'),
  read('/v1/tx/arm', 'viewer'),
  read('/v1/tx/profiles', 'viewer'),
  read('/v1/tx/devices', 'viewer'),
  read('/v1/tx/profiles/{id}/dry-run', 'sim:admin', 404),
  read('/v1/spectrum/ranges', 'viewer'),
  read('/v1/sims', 'viewer'),
  read('/v1/sims/{imsi}', 'viewer', 404),
  read('/v1/sims/{imsi}/diagnosis', 'viewer', 404),
  read('/v1/sims/export', 'sim:issuer'),
  read('/v1/sims/handout', 'sim:issuer', 404, '/v1/sims/handout?batch_id=b-20260101-000000000000'),
  change('POST', '/v1/sims/find', 'viewer', 400, {}),
  change('POST', '/v1/sims/{imsi}/label', 'sim:issuer', 404, { label: null }),
  change('POST', '/v1/sims/{imsi}/subscription', 'sim:issuer', 404, { uplink_bps: 1 }),
  read('/v1/sessions', 'viewer'),
  read('/v1/usage', 'viewer'),
  read('/v1/usage/export', 'viewer'),
  read('/v1/sims/{imsi}/usage', 'viewer', 404),
  change('POST', '/v1/sims/{imsi}/usage', 'operator', 404, {
    up_bytes: 1,
    down_bytes: 1,
    report_id: 'matrix',
  }),
  change('POST', '/v1/sims/{imsi}/quota', 'operator', 404, { quota_bytes: 1 }),
  read('/v1/audit', 'operator'),
  read('/v1/core/plan', 'operator'),
  read('/v1/core/found', 'operator'),
  change('POST', '/v1/core/adopt', 'admin', 400, { ours: 1 }),
  change('POST', '/v1/core/take-over', 'admin', 400, {}),
  change('POST', '/v1/core/restart', 'admin', 409, {}),
  change('POST', '/v1/core/restore-original', 'admin', 400, { copy: 1 }),
  read('/v1/tokens', 'admin'),
  read('/v1/settings', 'admin'),
  // The file of the machine that the tests run on is left alone.
  change('PUT', '/v1/settings', 'admin', 200, { settings: { tac: 7 } }, '/v1/settings?dry_run=true'),
  read('/v1/plugins', 'admin'),
  change('POST', '/v1/plugins', 'admin', 400),
  change('POST', '/v1/telemetry', 'operator', 404, HEARTBEAT),
  change('PUT', '/v1/policy', 'operator', 200, { sim_swap_cooldown_hours: 24 }),
  change('POST', '/v1/policy/license/documents', 'operator', 415, {}),
  change('DELETE', '/v1/policy/license/documents/{id}', 'operator', 404),
  change('POST', '/v1/policy/license/signed', 'operator', 400, { license: '{}', signature: '{}' }),
  change('POST', '/v1/spectrum/check', 'operator', 200, CHANNELS),
  change('POST', '/v1/lifecycle/transition', 'operator', 409, { from: 'peer', to: 'on-air' }),
  change('POST', '/v1/tx/arm', 'sim:admin', 409, { arm: true, profile_id: 'none' }),
  change('POST', '/v1/tx/disarm', 'operator', 200),
  change('PUT', '/v1/tx/profiles/{id}', 'sim:admin', 400, {}),
  change('DELETE', '/v1/tx/profiles/{id}', 'sim:admin', 404),
  change('POST', '/v1/sims', 'sim:issuer', 201, {}),
  change('POST', '/v1/sims/import', 'sim:issuer', 200, { sims: [] }),
  // No driver of a new node can list subscribers of a core.
  // It has no core whose subscribers could be listed.
  read('/v1/sims/foreign', 'viewer', 503),
  change('POST', '/v1/sims/adopt', 'sim:issuer', 503, { all: true }),
  change('POST', '/v1/sims/release', 'admin', 200, { dry_run: true }),
  change('POST', '/v1/sims/{imsi}/suspend', 'operator', 404),
  change('POST', '/v1/sims/{imsi}/resume', 'operator', 404),
  change('POST', '/v1/sims/{imsi}/revoke', 'sim:admin', 404),
  // The role is that of the action in the body; without one nobody gets past the schema.
  change('POST', '/v1/sims/bulk', 'viewer', 400, {}),
  read('/v1/cards', 'viewer', 200, `/v1/cards?imsi=${NOBODY}`),
  // The machine of a test has no card reader.
  change('POST', '/v1/cards/read', 'sim:issuer', 409),
  change('POST', '/v1/cards/write', 'sim:issuer', 400, {}),
  change('POST', '/v1/cards/script', 'sim:admin', 404, { imsi: NOBODY }),
  change('POST', '/v1/cards/written', 'sim:admin', 400, {}),
  // eSIM is off on a new node: what issues and shows codes says so.
  change('POST', '/v1/esim/issue', 'sim:issuer', 409, {}),
  read('/v1/esim/codes', 'sim:issuer'),
  read('/v1/esim/codes/{token}', 'sim:issuer', 404),
  read('/v1/esim/codes/{token}/qr', 'sim:issuer', 409),
  read('/v1/esim/sheet', 'sim:issuer', 409, '/v1/esim/sheet?batch=b-20260101-000000000000'),
  change('POST', '/v1/esim/revoke', 'sim:issuer', 404, { token: 'e-0' }),
  read('/v1/esim/euiccs', 'viewer'),
  read('/v1/esim/certs', 'admin'),
  read('/v1/esim/certs/{id}', 'admin', 404),
  change('POST', '/v1/esim/certs/init', 'admin', 400, { curve: 'none' }),
  change('POST', '/v1/esim/certs/import', 'admin', 400, { files: [] }),
  change('POST', '/v1/esim/certs/lab-eum', 'admin', 400, {}),
  change('POST', '/v1/esim/certs/revoke', 'admin', 400, {}),
  change('DELETE', '/v1/esim/certs/{id}', 'admin', 404),
  read('/v1/esim/providers', 'sim:issuer'),
  read('/v1/esim/providers/{id}', 'sim:issuer', 404),
  change('PUT', '/v1/esim/providers/{id}', 'admin', 400, { url: 'x' }),
  change('DELETE', '/v1/esim/providers/{id}', 'admin', 404),
  change('POST', '/v1/esim/providers/{id}/password', 'admin', 404),
  change('POST', '/v1/esim/providers/{id}/order-file', 'sim:admin', 404, { imsis: [NOBODY] }),
  change('POST', '/v1/esim/providers/{id}/codes', 'sim:issuer', 415, {}),
  change('POST', '/v1/esim/providers/{id}/order', 'sim:issuer', 404, { imsis: [NOBODY] }),
  read('/v1/esim/mdm-list', 'sim:issuer', 404, '/v1/esim/mdm-list?batch_id=b-20260101-000000000000'),
  ...['/gsma/rsp2/es9plus', '/es9plus'].flatMap((prefix) => ES9.map((name) => phone(`${prefix}/${name}`))),
  // A provider proves itself by its password.
  gate('/gsma/rsp2/es2plus/handleDownloadProgressInfo', { body: {} }, 401),
  change('POST', '/v1/clock/confirm', 'admin', 200, {}),
  change('POST', '/v1/tokens', 'admin', 201, { name: 'matrix', roles: ['viewer'] }),
  change('DELETE', '/v1/tokens/{id}', 'admin', 404),
  // Failed logins lock the address and the name: here nobody gets past the schema.
  gate('/v1/auth/login', { body: {} }, 400),
  gate('/v1/auth/refresh', {}, 401),
  gate('/v1/auth/logout', {}, 204),
  change('POST', '/v1/auth/links', 'viewer', 201, {}),
  read('/v1/auth/links', 'viewer'),
  change('DELETE', '/v1/auth/links/{id}', 'viewer', 404),
  gate('/v1/auth/links/open', { body: {} }, 400),
  change('POST', '/v1/auth/links/close', 'viewer', 204, {}),
  { ...open('/v1/auth/invitation'), welcome: 302 },
  gate('/v1/auth/invitation', { body: {} }, 400),
  read('/v1/auth/me', 'viewer'),
  change('POST', '/v1/auth/password', 'viewer', 400, {}),
  read('/v1/auth/recovery-codes', 'viewer'),
  change('POST', '/v1/auth/recovery-codes', 'viewer', 400, {}),
  read('/v1/auth/sessions', 'viewer'),
  change('DELETE', '/v1/auth/sessions/{id}', 'viewer', 404),
  // Of no page of a browser: there is no passkey for it.
  gate('/v1/auth/passkey/options', {}, 409),
  gate('/v1/auth/passkey/verify', { body: {} }, 400),
  change('POST', '/v1/auth/passkey/register/options', 'viewer', 409),
  change('POST', '/v1/auth/passkey/register/verify', 'viewer', 400, {}),
  read('/v1/auth/passkeys', 'viewer'),
  change('DELETE', '/v1/auth/passkeys/{id}', 'viewer', 404),
  read('/v1/users/{id}/passkeys', 'admin', 404),
  change('DELETE', '/v1/users/{id}/passkeys/{passkey}', 'admin', 404),
  read('/v1/users/{id}/certificates', 'admin', 404),
  change('POST', '/v1/users/{id}/certificates', 'admin', 404, { csr_pem: '' }),
  change('DELETE', '/v1/users/{id}/certificates/{serial}', 'admin', 404),
  read('/v1/users', 'admin'),
  change('POST', '/v1/users', 'admin', 400, {}),
  change('DELETE', '/v1/users/{id}', 'admin', 404),
  change('POST', '/v1/users/{id}/roles', 'admin', 404, { roles: ['viewer'] }),
  ...['reset', 'totp'].map((verb) => change('POST', `/v1/users/{id}/${verb}`, 'admin', 404)),
  read('/v1/users/invitations', 'admin'),
  change('POST', '/v1/users/invitations', 'admin', 400, {}),
  change('PUT', '/v1/users/invitations/hashes/{hash}', 'admin', 400, {}),
  change('DELETE', '/v1/users/invitations/{id}', 'admin', 404),
  read('/v1/plugins/{name}/secrets', 'admin', 200, '/v1/plugins/policy/secrets'),
  change(
    'PUT',
    '/v1/plugins/{name}/secrets/{key}',
    'admin',
    404,
    { value: 'x' },
    '/v1/plugins/policy/secrets/nothing',
  ),
  change(
    'DELETE',
    '/v1/plugins/{name}/secrets/{key}',
    'admin',
    404,
    undefined,
    '/v1/plugins/policy/secrets/nothing',
  ),
  change('POST', '/v1/plugins/{name}/load', 'admin', 404),
  change('POST', '/v1/plugins/{name}/unload', 'admin', 404),
  read('/v1/backup', 'admin'),
  read('/v1/support/bundle', 'admin'),
  read('/v1/log-level', 'admin'),
  change('PUT', '/v1/log-level', 'admin', 400, { component: 'nobody', level: 'debug' }),
  read('/v1/roaming/boxes', 'viewer'),
  change('PUT', '/v1/roaming/boxes/{id}', 'admin', 404, { permitted: true }, `/v1/roaming/boxes/${NODE}`),
  read('/v1/roaming/visitors', 'viewer'),
  change('POST', '/v1/roaming/calls', 'node', 200, {
    key: { id: '0123456789abcdef', x: 'A'.repeat(43) },
    names: [],
  }),
  change('POST', '/v1/roaming/leases', 'node', 200, { counted: [], leases: [] }),
  change('POST', '/v1/roaming/reach', 'operator', 400, { reach: 'mesh' }),
  read('/v1/sims/{imsi}/reach', 'viewer', 404),
  change('PUT', '/v1/sims/{imsi}/reach', 'operator', 404, { reach: 'mesh' }),
  read('/v1/compliance/export', 'operator'),
  read('/v1/compliance/erasures', 'operator'),
  change('POST', '/v1/sims/{imsi}/forget', 'admin', 404, {}),
  change('POST', '/v1/restore', 'admin', 400),
  read('/v1/restore/closed', 'admin'),
  change('POST', '/v1/restore/reopen', 'admin', 400, {}),
  ...['reload', 'disable', 'enable', 'uninstall'].map((verb) =>
    change('POST', `/v1/plugins/{name}/${verb}`, 'admin', 404),
  ),
]

/** Those of what is tried, which may lack packages. */
export const CONTRACT_ROUTES: readonly ContractRoute[] = ROUTES_OF_ALL.filter(isServed)

/** What each role may do, its own name included: the lattice of contract section 1, written out. */
export const HELD_BY: Readonly<Record<TokenRole, readonly TokenRole[]>> = {
  viewer: ['viewer'],
  operator: ['operator', 'viewer'],
  'sim:issuer': ['sim:issuer', 'viewer'],
  'sim:admin': ['sim:admin', 'sim:issuer', 'viewer'],
  admin: ['admin', 'operator', 'sim:admin', 'sim:issuer', 'viewer'],
}

/** The routes of the pages and panels that plugins of this checkout bring. */
function moduleRoutes(): readonly ContractRoute[] {
  return globSync(join(ROOT, 'packages/*/package.json')).flatMap((file) => {
    const { pages = [], panels = [] } = JSON.parse(readFileSync(file, 'utf8')).steeple ?? {}
    const [path]: readonly string[] = [...pages, ...panels].map(({ module }) => module)
    return path === undefined ? [] : [{ ...open(path.replace(/[^/]+$/, '{file}')), sample: { path } }]
  })
}

function open(path: string): ContractRoute {
  return { method: 'GET', path, minimum: 'none', sample: { path }, welcome: 200 }
}

/** A phone proves itself inside the protocol. */
function phone(path: string): ContractRoute {
  return { method: 'POST', path, minimum: 'none', sample: { path, body: {} }, welcome: 409 }
}

/** Who comes without a credential: to get one, or to leave. */
function gate(path: string, sample: { readonly body?: unknown }, welcome: number): ContractRoute {
  return { method: 'POST', path, minimum: 'none', sample: { path, ...sample }, welcome }
}

function read(path: string, minimum: TokenRole, welcome = 200, sample = filled(path)): ContractRoute {
  return { method: 'GET', path, minimum, sample: { path: sample }, welcome }
}

function change(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  minimum: Minimum,
  welcome: number,
  body?: unknown,
  sample = filled(path),
): ContractRoute {
  return { method, path, minimum, sample: { path: sample, ...(body !== undefined && { body }) }, welcome }
}

function filled(path: string): string {
  return path.replaceAll(
    /([^/]+)\/\{(\w+)\}/g,
    (_, kind: string, name: string) => `${kind}/${PLACES[kind] ?? PLACES[name]}`,
  )
}

/** A request to a route: its path and its body. */
export type Sample = ContractRoute['sample']

/** A request that is well formed; of a route that the matrix does not have, its example, with `id` in its path. */
export function sampleOf({ method, path, object }: Operation, id: string): Sample {
  const known = CONTRACT_ROUTES.find((route) => route.method === method && route.path === path)
  const { example } = object.requestBody?.content['application/json'] ?? {}
  return known?.sample ?? { path: path.replaceAll(/\{[^}]+\}/g, id), body: example }
}
