import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isServed } from './builds/program.ts'
import { ROOT } from './launch.ts'

/** A role of contract section 1 that a scoped token can hold. */
export type TokenRole = 'viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin'

/**
 * What a route asks for at least; `none` needs no credential. `bootstrap` is an unused bootstrap token, `node` the certificate of a
 * node: neither is held by any role.
 */
export type Minimum = TokenRole | 'none' | 'bootstrap' | 'node'

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
  read('/v1/nodes/{id}/enroll', 'viewer', `/v1/nodes/${NODE}/enroll`, 404),
  read('/v1/nodes/{id}/leave', 'viewer', `/v1/nodes/${NODE}/leave`, 404),
  change('POST', '/v1/nodes/{id}/enroll', 'bootstrap', { path: `/v1/nodes/${NODE}/enroll`, body: {} }, 400),
  change('POST', '/v1/nodes/{id}/leave', 'admin', { path: `/v1/nodes/${NODE}/leave`, body: {} }, 404),
  open('/v1/mesh/ca'),
  open('/v1/mesh/challenge'),
  open('/v1/mesh/crl'),
  gate('/v1/mesh/renew', { body: {} }, 400),
  read('/v1/alerts', 'viewer'),
  read('/v1/alerts/webhooks', 'viewer'),
  read('/v1/alerts/receivers', 'viewer'),
  change('POST', '/v1/alerts/receivers', 'admin', { body: {} }, 400),
  ...(['PUT', 'DELETE'] as const).map((method) =>
    change(
      method,
      '/v1/alerts/receivers/{name}',
      'admin',
      { path: '/v1/alerts/receivers/nobody', ...(method === 'PUT' && { body: {} }) },
      404,
    ),
  ),
  change(
    'POST',
    '/v1/alerts/receivers/{name}/test',
    'operator',
    { path: '/v1/alerts/receivers/nobody/test', body: {} },
    404,
  ),
  change('POST', '/v1/alerts/{id}/ack', 'operator', { path: `/v1/alerts/${NO_ALERT}/ack`, body: {} }, 404),
  change(
    'POST',
    '/v1/alerts/{id}/silence',
    'operator',
    { path: `/v1/alerts/${NO_ALERT}/silence`, body: { until: null } },
    404,
  ),
  change(
    'POST',
    '/v1/alerts/webhooks/test',
    'operator',
    { path: '/v1/alerts/webhooks/test', body: { webhook: 'nobody' } },
    404,
  ),
  read('/v1/mesh/members', 'operator'),
  read('/v1/mesh/backhaul', 'viewer'),
  change(
    'PUT',
    '/v1/mesh/members/{id}/wireguard',
    'node',
    { path: `/v1/mesh/members/${NODE}/wireguard`, body: {} },
    400,
  ),
  // Other boxes join over TLS alone, and this node serves none.
  change('POST', '/v1/mesh/invite', 'admin', { body: {} }, 409),
  change('POST', '/v1/mesh/join', 'admin', { body: {} }, 400),
  change('POST', '/v1/mesh/root-address', 'admin', { body: {} }, 400),
  change('POST', '/v1/mesh/take-root', 'admin', { body: {} }, 409),
  read('/v1/peers', 'viewer'),
  read('/v1/peers/self', 'viewer'),
  read('/v1/peers/{id}', 'viewer', '/v1/peers/p-0', 404),
  change('POST', '/v1/peers', 'operator', { body: {} }, 400),
  change('DELETE', '/v1/peers/{id}', 'operator', { path: '/v1/peers/p-0' }, 404),
  change('POST', '/v1/peers/{id}/accept', 'operator', { path: '/v1/peers/p-0/accept', body: {} }, 404),
  change('POST', '/v1/peers/{id}/approve', 'operator', { path: '/v1/peers/p-0/approve', body: {} }, 400),
  change('POST', '/v1/peers/{id}/rotate', 'operator', { path: '/v1/peers/p-0/rotate', body: {} }, 400),
  change('POST', '/v1/peers/rotate', 'operator', { body: { force: 'no' } }, 400),
  read('/v1/events', 'viewer'),
  read('/v1/clock', 'viewer'),
  read('/v1/policy', 'viewer'),
  read('/v1/policy/license/documents', 'viewer'),
  read('/v1/policy/license/documents/{id}', 'operator', '/v1/policy/license/documents/d-000000000000', 404),
  read('/v1/tx/arm', 'viewer'),
  read('/v1/tx/profiles', 'viewer'),
  read('/v1/tx/devices', 'viewer'),
  read('/v1/tx/profiles/{id}/dry-run', 'sim:admin', '/v1/tx/profiles/none/dry-run', 404),
  read('/v1/spectrum/ranges', 'viewer'),
  read('/v1/sims', 'viewer'),
  read('/v1/sims/{imsi}', 'viewer', `/v1/sims/${NOBODY}`, 404),
  read('/v1/sims/{imsi}/diagnosis', 'viewer', `/v1/sims/${NOBODY}/diagnosis`, 404),
  read('/v1/sims/export', 'sim:issuer'),
  read('/v1/sims/handout', 'sim:issuer', '/v1/sims/handout?batch_id=b-20260101-000000000000', 404),
  change('POST', '/v1/sims/find', 'viewer', { body: {} }, 400),
  change(
    'POST',
    '/v1/sims/{imsi}/label',
    'sim:issuer',
    { path: `/v1/sims/${NOBODY}/label`, body: { label: null } },
    404,
  ),
  read('/v1/sessions', 'viewer'),
  read('/v1/usage', 'viewer'),
  read('/v1/usage/export', 'viewer'),
  read('/v1/sims/{imsi}/usage', 'viewer', `/v1/sims/${NOBODY}/usage`, 404),
  change(
    'POST',
    '/v1/sims/{imsi}/usage',
    'operator',
    { path: `/v1/sims/${NOBODY}/usage`, body: { up_bytes: 1, down_bytes: 1, report_id: 'matrix' } },
    404,
  ),
  change(
    'POST',
    '/v1/sims/{imsi}/quota',
    'operator',
    { path: `/v1/sims/${NOBODY}/quota`, body: { quota_bytes: 1 } },
    404,
  ),
  read('/v1/audit', 'operator'),
  read('/v1/core/plan', 'operator'),
  read('/v1/core/found', 'operator'),
  change('POST', '/v1/core/adopt', 'admin', { body: { ours: 1 } }, 400),
  change('POST', '/v1/core/take-over', 'admin', { body: {} }, 400),
  change('POST', '/v1/core/restart', 'admin', { body: {} }, 503),
  change('POST', '/v1/core/restore-original', 'admin', { body: { copy: 1 } }, 400),
  read('/v1/tokens', 'admin'),
  read('/v1/settings', 'admin'),
  // The file of the machine that the tests run on is left alone.
  change(
    'PUT',
    '/v1/settings',
    'admin',
    { path: '/v1/settings?dry_run=true', body: { settings: { tac: 7 } } },
    200,
  ),
  read('/v1/plugins', 'admin'),
  change('POST', '/v1/plugins', 'admin', { path: '/v1/plugins' }, 400),
  change('POST', '/v1/telemetry', 'operator', { body: HEARTBEAT }, 404),
  change('PUT', '/v1/policy', 'operator', { body: { sim_swap_cooldown_hours: 24 } }, 200),
  change('POST', '/v1/policy/license/documents', 'operator', { body: {} }, 415),
  change(
    'DELETE',
    '/v1/policy/license/documents/{id}',
    'operator',
    { path: '/v1/policy/license/documents/d-000000000000' },
    404,
  ),
  change('POST', '/v1/spectrum/check', 'operator', { body: CHANNELS }, 200),
  change('POST', '/v1/lifecycle/transition', 'operator', { body: { from: 'peer', to: 'on-air' } }, 409),
  change('POST', '/v1/tx/arm', 'sim:admin', { body: { arm: true, profile_id: 'none' } }, 409),
  change('POST', '/v1/tx/disarm', 'operator', {}, 200),
  change('PUT', '/v1/tx/profiles/{id}', 'sim:admin', { path: '/v1/tx/profiles/none', body: {} }, 400),
  change('DELETE', '/v1/tx/profiles/{id}', 'sim:admin', { path: '/v1/tx/profiles/none' }, 404),
  change('POST', '/v1/sims', 'sim:issuer', { body: {} }, 201),
  change('POST', '/v1/sims/import', 'sim:issuer', { body: { sims: [] } }, 200),
  // No driver of a new node can list subscribers of a core.
  // It has no core whose subscribers could be listed.
  read('/v1/sims/foreign', 'viewer', '/v1/sims/foreign', 503),
  change('POST', '/v1/sims/adopt', 'sim:issuer', { body: { all: true } }, 503),
  change('POST', '/v1/sims/release', 'admin', { body: { dry_run: true } }, 200),
  change('POST', '/v1/sims/{imsi}/suspend', 'operator', { path: `/v1/sims/${NOBODY}/suspend` }, 404),
  change('POST', '/v1/sims/{imsi}/resume', 'operator', { path: `/v1/sims/${NOBODY}/resume` }, 404),
  change('POST', '/v1/sims/{imsi}/revoke', 'sim:admin', { path: `/v1/sims/${NOBODY}/revoke` }, 404),
  // The role is that of the action in the body; without one nobody gets past the schema.
  change('POST', '/v1/sims/bulk', 'viewer', { body: {} }, 400),
  read('/v1/cards', 'viewer', `/v1/cards?imsi=${NOBODY}`),
  // The machine of a test has no card reader.
  change('POST', '/v1/cards/read', 'sim:issuer', {}, 409),
  change('POST', '/v1/cards/write', 'sim:issuer', { body: {} }, 400),
  change('POST', '/v1/cards/script', 'sim:admin', { body: { imsi: NOBODY } }, 404),
  change('POST', '/v1/cards/written', 'sim:admin', { body: {} }, 400),
  // eSIM is off on a new node: what issues and shows codes says so.
  change('POST', '/v1/esim/issue', 'sim:issuer', { body: {} }, 409),
  read('/v1/esim/codes', 'sim:issuer'),
  read('/v1/esim/codes/{token}', 'sim:issuer', '/v1/esim/codes/e-0', 404),
  read('/v1/esim/codes/{token}/qr', 'sim:issuer', '/v1/esim/codes/e-0/qr', 409),
  read('/v1/esim/sheet', 'sim:issuer', '/v1/esim/sheet?batch=b-20260101-000000000000', 409),
  change('POST', '/v1/esim/revoke', 'sim:issuer', { body: { token: 'e-0' } }, 404),
  read('/v1/esim/euiccs', 'viewer'),
  read('/v1/esim/certs', 'admin'),
  read('/v1/esim/certs/{id}', 'admin', `/v1/esim/certs/${'0'.repeat(64)}`, 404),
  change('POST', '/v1/esim/certs/init', 'admin', { body: { curve: 'none' } }, 400),
  change('POST', '/v1/esim/certs/import', 'admin', { body: { files: [] } }, 400),
  change('POST', '/v1/esim/certs/lab-eum', 'admin', { body: {} }, 400),
  change('POST', '/v1/esim/certs/revoke', 'admin', { body: {} }, 400),
  change('DELETE', '/v1/esim/certs/{id}', 'admin', { path: `/v1/esim/certs/${'0'.repeat(64)}` }, 404),
  read('/v1/esim/providers', 'sim:issuer'),
  read('/v1/esim/providers/{id}', 'sim:issuer', '/v1/esim/providers/nobody', 404),
  change(
    'PUT',
    '/v1/esim/providers/{id}',
    'admin',
    { path: '/v1/esim/providers/nobody', body: { url: 'x' } },
    400,
  ),
  change('DELETE', '/v1/esim/providers/{id}', 'admin', { path: '/v1/esim/providers/nobody' }, 404),
  change(
    'POST',
    '/v1/esim/providers/{id}/password',
    'admin',
    { path: '/v1/esim/providers/nobody/password' },
    404,
  ),
  change(
    'POST',
    '/v1/esim/providers/{id}/order-file',
    'sim:admin',
    { path: '/v1/esim/providers/nobody/order-file', body: { imsis: [NOBODY] } },
    404,
  ),
  change(
    'POST',
    '/v1/esim/providers/{id}/codes',
    'sim:issuer',
    { path: '/v1/esim/providers/nobody/codes', body: {} },
    404,
  ),
  change(
    'POST',
    '/v1/esim/providers/{id}/order',
    'sim:issuer',
    { path: '/v1/esim/providers/nobody/order', body: { imsis: [NOBODY] } },
    404,
  ),
  read('/v1/esim/mdm-list', 'sim:issuer', '/v1/esim/mdm-list?batch_id=b-20260101-000000000000', 404),
  ...['/gsma/rsp2/es9plus', '/es9plus'].flatMap((prefix) => ES9.map((name) => phone(`${prefix}/${name}`))),
  // A provider proves itself by its password.
  gate('/gsma/rsp2/es2plus/handleDownloadProgressInfo', { body: {} }, 401),
  change('POST', '/v1/clock/confirm', 'admin', { body: {} }, 200),
  change('POST', '/v1/tokens', 'admin', { body: { name: 'matrix', roles: ['viewer'] } }, 201),
  change('DELETE', '/v1/tokens/{id}', 'admin', { path: `/v1/tokens/${NODE}` }, 404),
  // Failed logins lock the address and the name: here nobody gets past the schema.
  gate('/v1/auth/login', { body: {} }, 400),
  gate('/v1/auth/refresh', {}, 401),
  gate('/v1/auth/logout', {}, 204),
  change('POST', '/v1/auth/links', 'viewer', { body: {} }, 201),
  read('/v1/auth/links', 'viewer'),
  change('DELETE', '/v1/auth/links/{id}', 'viewer', { path: `/v1/auth/links/${NODE}` }, 404),
  gate('/v1/auth/links/open', { body: {} }, 400),
  change('POST', '/v1/auth/links/close', 'viewer', { body: {} }, 204),
  { ...open('/v1/auth/invitation'), welcome: 302 },
  gate('/v1/auth/invitation', { body: {} }, 400),
  read('/v1/auth/me', 'viewer'),
  change('POST', '/v1/auth/password', 'viewer', { body: {} }, 400),
  read('/v1/auth/recovery-codes', 'viewer'),
  change('POST', '/v1/auth/recovery-codes', 'viewer', { body: {} }, 400),
  read('/v1/auth/sessions', 'viewer'),
  change('DELETE', '/v1/auth/sessions/{id}', 'viewer', { path: `/v1/auth/sessions/${NODE}` }, 404),
  // Of no page of a browser: there is no passkey for it.
  gate('/v1/auth/passkey/options', {}, 409),
  gate('/v1/auth/passkey/verify', { body: {} }, 400),
  change('POST', '/v1/auth/passkey/register/options', 'viewer', {}, 409),
  change('POST', '/v1/auth/passkey/register/verify', 'viewer', { body: {} }, 400),
  read('/v1/auth/passkeys', 'viewer'),
  change('DELETE', '/v1/auth/passkeys/{id}', 'viewer', { path: '/v1/auth/passkeys/nobody' }, 404),
  read('/v1/users/{id}/passkeys', 'admin', `/v1/users/${NODE}/passkeys`, 404),
  change(
    'DELETE',
    '/v1/users/{id}/passkeys/{passkey}',
    'admin',
    { path: `/v1/users/${NODE}/passkeys/nobody` },
    404,
  ),
  read('/v1/users/{id}/certificates', 'admin', `/v1/users/${NODE}/certificates`, 404),
  change(
    'POST',
    '/v1/users/{id}/certificates',
    'admin',
    { path: `/v1/users/${NODE}/certificates`, body: { csr_pem: '' } },
    404,
  ),
  change(
    'DELETE',
    '/v1/users/{id}/certificates/{serial}',
    'admin',
    { path: `/v1/users/${NODE}/certificates/0` },
    404,
  ),
  read('/v1/users', 'admin'),
  change('POST', '/v1/users', 'admin', { body: {} }, 400),
  change('DELETE', '/v1/users/{id}', 'admin', { path: `/v1/users/${NODE}` }, 404),
  change(
    'POST',
    '/v1/users/{id}/roles',
    'admin',
    { path: `/v1/users/${NODE}/roles`, body: { roles: ['viewer'] } },
    404,
  ),
  ...['reset', 'totp'].map((verb) =>
    change('POST', `/v1/users/{id}/${verb}`, 'admin', { path: `/v1/users/${NODE}/${verb}` }, 404),
  ),
  read('/v1/users/invitations', 'admin'),
  change('POST', '/v1/users/invitations', 'admin', { body: {} }, 400),
  change('DELETE', '/v1/users/invitations/{id}', 'admin', { path: `/v1/users/invitations/${NODE}` }, 404),
  read('/v1/plugins/{name}/secrets', 'admin', '/v1/plugins/policy/secrets'),
  change(
    'PUT',
    '/v1/plugins/{name}/secrets/{key}',
    'admin',
    { path: '/v1/plugins/policy/secrets/nothing', body: { value: 'x' } },
    404,
  ),
  change(
    'DELETE',
    '/v1/plugins/{name}/secrets/{key}',
    'admin',
    { path: '/v1/plugins/policy/secrets/nothing' },
    404,
  ),
  change('POST', '/v1/plugins/{name}/load', 'admin', { path: '/v1/plugins/nobody/load' }, 404),
  change('POST', '/v1/plugins/{name}/unload', 'admin', { path: '/v1/plugins/nobody/unload' }, 404),
  read('/v1/backup', 'admin'),
  read('/v1/support/bundle', 'admin'),
  read('/v1/log-level', 'admin'),
  change('PUT', '/v1/log-level', 'admin', { body: { component: 'nobody', level: 'debug' } }, 400),
  read('/v1/compliance/export', 'operator'),
  read('/v1/compliance/erasures', 'operator'),
  change('POST', '/v1/sims/{imsi}/forget', 'admin', { path: `/v1/sims/${NOBODY}/forget`, body: {} }, 404),
  change('POST', '/v1/restore', 'admin', { path: '/v1/restore' }, 400),
  read('/v1/restore/closed', 'admin'),
  change('POST', '/v1/restore/reopen', 'admin', { body: {} }, 400),
  ...['reload', 'disable', 'enable', 'uninstall'].map((verb) =>
    change('POST', `/v1/plugins/{name}/${verb}`, 'admin', { path: `/v1/plugins/nobody/${verb}` }, 404),
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

function read(path: string, minimum: TokenRole, sample: string = path, welcome = 200): ContractRoute {
  return { method: 'GET', path, minimum, sample: { path: sample }, welcome }
}

function change(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  minimum: Minimum,
  sample: { readonly path?: string; readonly body?: unknown },
  welcome: number,
): ContractRoute {
  return { method, path, minimum, sample: { path, ...sample }, welcome }
}
