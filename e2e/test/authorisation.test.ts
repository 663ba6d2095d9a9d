import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { CONTRACT_ROUTES, type ContractRoute, HELD_BY } from '../harness/contract-roles.ts'
import { type Credential, everyCredential } from '../harness/credentials.ts'
import { createClient, type Got, type HttpClient } from '../harness/http-client.ts'
import { ROOT } from '../harness/launch.ts'
import { fetchOpenApi, type Operation, operationsOf } from '../harness/openapi.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

const matrix = suite('e2e/authorisation', { limitMs: 1_200_000 })

/** What the contract says of one route under one credential. */
type Verdict = 'in' | 'unauthenticated' | 'forbidden'

interface Cell {
  readonly route: ContractRoute
  readonly credential: Credential
  readonly verdict: Verdict
  readonly requestId: string
}

let service: Service
let client: HttpClient
/** Routes that are asked from one address. */
const ROUTES_PER_ADDRESS = 60
/** Those of each credential, each from an address of its own: too many failures of one are throttled. */
let clients: ReadonlyMap<Credential, readonly HttpClient[]> = new Map()
let operations: readonly Operation[] = []
let credentials: readonly Credential[] = []
let cells: readonly Cell[] = []

matrix.before(async () => {
  // Longer than all of this takes anywhere.
  service = await startService({ env: { SVC_AUTH_BOOTSTRAP_TOKEN_TTL: '6h' } })
  client = createClient(service.url, 8)
  operations = operationsOf(await fetchOpenApi(service.url))
  credentials = await everyCredential(service)
  clients = new Map(
    [...credentials, ...credentials.flatMap(({ twin }) => twin ?? [])].map((credential, index) => [
      credential,
      Array.from({ length: Math.ceil(CONTRACT_ROUTES.length / ROUTES_PER_ADDRESS) }, (_, part) =>
        createClient(service.url, 4, { localAddress: `127.0.${part + 1}.${index + 1}` }),
      ),
    ]),
  )
  cells = CONTRACT_ROUTES.flatMap((route, index) =>
    credentials
      .map((credential) => (index % 2 === 0 ? credential : (credential.twin ?? credential)))
      .map((credential) => ({ route, credential, verdict: verdictOf(route, credential) })),
  ).map((cell, index) => ({ ...cell, requestId: `cell-${index}` }))
})

matrix.after(async () => {
  client.close()
  for (const one of [...clients.values()].flat()) one.close()
  await service.stop()
})

matrix('knows every route that the service documents, and no other', () => {
  const documented = operations.map(({ method, path }) => `${method} ${path}`).sort()
  const expected = CONTRACT_ROUTES.map(({ method, path }) => `${method} ${path}`).sort()
  assert.equal(documented, expected)
})

matrix('is asked by the commands of plugins for routes that there are', () => {
  const routes = new Set(operations.map(({ method, path }) => `${method} ${path}`))
  const folders = readdirSync(join(ROOT, 'packages')).map((name) =>
    join(ROOT, 'packages', name, 'package.json'),
  )
  const manifests = folders
    .filter(existsSync)
    .map((file) => JSON.parse(readFileSync(file, 'utf8')).steeple ?? {})
  const commands: readonly { readonly operation?: string }[] = manifests.flatMap(
    ({ commands = [] }) => commands,
  )
  const asked = commands.flatMap(({ operation }) => operation ?? [])
  assert.ok(asked.length > 15, `${asked.length} operations`)
  assert.equal(
    asked.filter((operation) => !routes.has(operation)),
    [],
  )
})

const FOR_NODES_TOO = new Set([
  'POST /v1/telemetry',
  'POST /v1/sims/{imsi}/usage',
  'GET /v1/mesh/members',
  'PUT /v1/mesh/members/{id}/wireguard',
  'POST /v1/mesh/sims/asked',
  'POST /v1/nodes/{id}/enroll',
  'POST /v1/nodes/{id}/leave',
  'GET /v1/desired-state/{id}',
  'PUT /v1/desired-state/{id}/report',
  'GET /v1/software/{build}',
  'GET /v1/software/{build}/octets',
  'POST /v1/roaming/calls',
  'POST /v1/roaming/leases',
])

matrix('finds the roles of the contract in the document', () => {
  for (const { method, path, object } of operations) {
    const route = CONTRACT_ROUTES.find((one) => one.method === method && one.path === path)
    const holders = Object.entries(HELD_BY)
      .filter(([, held]) => route !== undefined && held.some((role) => role === route.minimum))
      .map(([role]) => role)
    if (route?.minimum === 'bootstrap') holders.push('bootstrap')
    // Contract section 1: telemetry, reports of usage and what it says of itself are for nodes too, each for its own.
    if (FOR_NODES_TOO.has(`${method} ${path}`)) holders.push('node')
    assert.equal([...object['x-roles']].sort(), holders.sort(), `${method} ${path}`)
    const token = route?.minimum === 'bootstrap' ? { bootstrap: [] } : { bearer: [] }
    const ways = holders.length === 0 ? [] : [token, { certificate: [] }]
    assert.equal(object.security, ways, `${method} ${path}`)
  }
})

matrix('refuses every cell that the contract refuses, and changes nothing by it', async () => {
  const refused = cells.filter(({ verdict }) => verdict !== 'in')
  const before = await stateOf(service)
  await inParallel(refused, async (cell) => judgeRefusal(cell, await knock(cell)))
  assert.equal(await stateOf(service), before)
  process.stdout.write(`\n# ${refused.length} cells refused\n`)
})

matrix(
  'has the denied attempts to change something in the audit trail, with who, what and which request',
  async () => {
    const denied = cells.filter(({ verdict, route }) => verdict === 'forbidden' && route.method !== 'GET')
    const entries = await auditOf(service, 'denied')
    assert.is(entries.size, denied.length)
    for (const { route, credential, requestId } of denied) {
      const entry = entries.get(requestId)
      const name = `${route.method} ${route.path} with ${credential.name}`
      assert.ok(entry !== undefined, `no audit entry for ${name}`)
      const operation = operations.find((one) => one.method === route.method && one.path === route.path)
      // A heartbeat has no action of its own; its refusal is one of a request.
      assert.is(entry.action, operation?.object['x-audit-action'] ?? 'http.request', name)
      assert.is(entry.principal.id, credential.principal, name)
    }
    process.stdout.write(`\n# ${denied.length} denied attempts in the audit trail\n`)
  },
)

matrix('lets in every cell that the contract lets in', async () => {
  const welcome = cells.filter(({ verdict }) => verdict === 'in')
  await inParallel(welcome, async (cell) => {
    const { status, body } = await knock(cell)
    const expected = welcomeOf(cell)
    const text = status === expected ? '' : body.toString().slice(0, 300)
    assert.is(status, expected, `${nameOf(cell)}: ${status} ${text}`)
  })
  process.stdout.write(`\n# ${welcome.length} cells let in, ${cells.length} cells in all\n`)
})

/** The status of one that is let in, or why even an open route refuses the request. */
function welcomeOf({ route, credential }: Cell): number {
  // A token in the query is an unknown parameter, on open routes too, and is what addresses of pages may not have in them.
  if (credential.query !== undefined) return 400
  // Metrics are for networks; who asks through a proxy that nobody trusts may be anybody.
  const isHidden = 'x-forwarded-for' in credential.headers
  return isHidden && route.path === '/metrics' ? 403 : route.welcome
}

matrix('opens no protected route by another spelling of its path or method', async () => {
  const closed = CONTRACT_ROUTES.filter(({ minimum }) => minimum !== 'none')
  await inParallel(closed, async ({ method, sample }) => {
    for (const path of spellings(sample.path)) {
      const { status } = await client.send({ method, path, headers: {} })
      assert.ok([400, 401, 404, 405].includes(status), `${method} ${path}: ${status}`)
    }
    const overridden = await client.send({
      method: 'GET',
      path: '/v1/healthz',
      headers: {
        'x-http-method-override': method,
        'x-original-url': sample.path,
        'x-rewrite-url': sample.path,
      },
    })
    assert.is(JSON.parse(overridden.body.toString()).status, 'ok')
    if (method === 'GET') {
      const { status } = await client.send({ method: 'HEAD', path: sample.path, headers: {} })
      assert.is(status, 401, `HEAD ${sample.path}`)
    }
  })
})

matrix('takes no request that carries two credentials, whichever is good', async () => {
  for (const { path } of CONTRACT_ROUTES.filter(({ method }) => method === 'GET')) {
    for (const authorization of [
      ['Bearer x', `Bearer ${service.adminToken}`],
      [`Bearer ${service.adminToken}`, 'Bearer x'],
    ]) {
      const { status, body } = await client.send({ method: 'GET', path, headers: { authorization } })
      assert.equal([status, codeOf(body)], [400, 'validation_failed'], path)
    }
  }
})

matrix('mints no token with the role of a node: it belongs to certificates', async () => {
  for (const roles of [['node'], ['viewer', 'node'], ['root'], [], ['Admin']]) {
    const { status } = await service.request('POST', '/v1/tokens', { body: { name: 'n', roles } })
    assert.is(status, 400, JSON.stringify(roles))
  }
  const withRoles = { name: 'n', kind: 'bootstrap', roles: ['viewer'] }
  assert.is((await service.request('POST', '/v1/tokens', { body: withRoles })).status, 400)
})

matrix('forgets a deleted token at the next request, on every route that it opened', async () => {
  const { body } = await service.request('POST', '/v1/tokens', { body: { name: 'brief', roles: ['admin'] } })
  const token: string = body.token
  const reads = CONTRACT_ROUTES.filter(({ method, minimum }) => method === 'GET' && minimum !== 'none')
  for (const { sample, welcome } of reads)
    assert.is((await send({ path: sample.path, token })).status, welcome, sample.path)
  assert.is((await service.request('DELETE', `/v1/tokens/${body.id}`)).status, 204)
  for (const { sample } of reads)
    assert.is((await send({ path: sample.path, token })).status, 401, sample.path)
})

matrix('has no anonymous way in when the variable of the admin token is empty or absent', async () => {
  for (const SVC_ADMIN_TOKEN of ['', undefined]) {
    await using closed = await startService({ env: { SVC_ADMIN_TOKEN } })
    const headers = ['', 'Bearer', 'Bearer ', 'Bearer  ', 'Bearer undefined', 'Bearer null', 'Bearer %20']
    for (const { method, minimum, sample } of CONTRACT_ROUTES) {
      if (minimum === 'none') continue
      for (const authorization of headers) {
        const { status } = await closed.request(method, sample.path, {
          token: undefined,
          headers: { authorization },
        })
        // Too many of them from one address are not even looked at.
        assert.ok(
          status === 401 || status === 429,
          `${method} ${sample.path} with ${JSON.stringify(authorization)}: ${status}`,
        )
      }
    }
  }
})

matrix('leaves an audit chain that verifies', async () => {
  const verdict = await runSvc(['audit', 'verify', '--data-dir', service.dataDir])
  assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
})

matrix.run()

function verdictOf(route: ContractRoute, credential: Credential): Verdict {
  if (route.minimum === 'none') return 'in'
  if (route.minimum === 'bootstrap' && credential.bootstrap === 'good') return 'in'
  if (credential.role === undefined) return 'unauthenticated'
  return HELD_BY[credential.role].some((role) => role === route.minimum) ? 'in' : 'forbidden'
}

function nameOf({ route, credential }: Cell): string {
  return `${route.method} ${route.path} with ${credential.name}`
}

function knock({ route, credential, requestId }: Cell): Promise<Got> {
  const { path, body } = route.sample
  const own = clients.get(credential)?.[Math.floor(CONTRACT_ROUTES.indexOf(route) / ROUTES_PER_ADDRESS)]
  if (own === undefined) throw new Error(`${credential.name} has no client`)
  return own.send({
    method: route.method,
    path: path + (credential.query ?? ''),
    headers: {
      ...credential.headers,
      'x-request-id': requestId,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}

function send({ path, token }: { readonly path: string; readonly token: string }): Promise<Got> {
  return client.send({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } })
}

function judgeRefusal(cell: Cell, got: Got): void {
  const name = nameOf(cell)
  const isUnknown = cell.verdict === 'unauthenticated'
  assert.is(got.status, isUnknown ? 401 : 403, `${name}: ${got.status}`)
  assert.is(codeOf(got.body), isUnknown ? unknownCode(cell) : 'forbidden', name)
  assert.is(got.headers['www-authenticate'], isUnknown ? 'Bearer' : undefined, name)
  assert.is(got.headers['x-request-id'], cell.requestId, name)
  assert.equal(Object.keys(JSON.parse(got.body.toString())), ['error'], name)
}

function unknownCode({ route, credential }: Cell): string {
  if (route.minimum === 'bootstrap' && credential.bootstrap !== undefined) return 'bootstrap_token_invalid'
  return credential.code ?? 'unauthenticated'
}

function codeOf(body: Buffer): string | undefined {
  try {
    return JSON.parse(body.toString()).error?.code
  } catch {
    return undefined
  }
}

/** Everything that a request could have changed, as the API shows it. */
async function stateOf(of: Service): Promise<unknown> {
  const paths = [
    '/v1/tokens?limit=500',
    '/v1/policy',
    '/v1/plugins?limit=500',
    '/v1/tx/arm',
    '/v1/nodes?limit=500',
    '/v1/users?limit=500',
    '/v1/auth/sessions?limit=500',
  ]
  const bodies = await Promise.all(paths.map(async (path) => (await of.request('GET', path)).body))
  const [tokens, policy, plugins, tx, nodes, users, sessions] = bodies
  return {
    // When a token was used is not its state.
    tokens: tokens.tokens.map((token: object) => ({ ...token, last_used_at: null })),
    policy,
    plugins,
    tx,
    users,
    sessions,
    nodes: nodes.nodes.map((node: { state: string; node_id: string }) => [node.node_id, node.state]),
  }
}

interface AuditRow {
  readonly action: string
  readonly outcome: string
  readonly request_id: string
  readonly principal: { readonly id: string }
}

async function auditOf(of: Service, outcome: string): Promise<ReadonlyMap<string, AuditRow>> {
  const found = new Map<string, AuditRow>()
  let cursor: string | null = ''
  while (cursor !== null) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await of.request('GET', `/v1/audit?limit=500${more}`)
    assert.is(status, 200)
    for (const entry of body.entries)
      if (entry.outcome === outcome && entry.action !== 'auth.refuse') found.set(entry.request_id, entry)
    cursor = body.next_cursor
  }
  return found
}

/** Other ways to write a path that a router or a proxy might take for the same. */
function spellings(path: string): readonly string[] {
  const encoded = path.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  return [
    path,
    `${path}/`,
    `/${path}`,
    path.toUpperCase(),
    path.replace('/v1/', '/v1//'),
    path.replace('/v1/', '/v1/./'),
    path.replace('/v1/', '/v1/healthz/../'),
    path.replace('/v1/', '/v1/docs/..%2f'),
    path.replace('/v1/', '/v1;x=y/'),
    `${path};x=y`,
    `${path}%00`,
    `${path}%20`,
    `${path}?`,
    `${path}?/v1/healthz`,
    `${path}#/v1/healthz`,
    encoded,
    encoded.replaceAll('%2f', '/'),
    `http://localhost${path}`,
  ]
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
