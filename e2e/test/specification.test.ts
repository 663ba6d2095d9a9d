import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { fetchOpenApi, type Json, type Operation, operationsOf } from '../harness/openapi.ts'
import { type Answer, runSvc, type Service, startService } from '../harness/service.ts'

/*
 * The specification, sentence by sentence, as a client reads it that was written from it alone: what it says is accepted is
 * accepted, what it says is answered is answered, in its types. Who may do what is in authorisation.test.ts, every key and its
 * default in the tests of the package settings.
 */
const specification = suite('e2e/specification')

/** Every key of its table with a value that it allows and that this machine can serve. */
const CONFIG = `
server: {listen: ':8080', data_dir: /var/lib/svc, mode: lab, country: LAB, log_level: info, log_format: json}
plmn: {mcc: '999', mnc: '99'}
tac: 7
apns: [internet, ims]
auth: {bootstrap_token_ttl: 5m, admin_token_env: SVC_ADMIN_TOKEN}
southbound: {driver: none}
hss: {driver: none, container: mongo}
peering: {enabled: true, mdns: false}
policy: {local_breakout: true, max_ues: 128, apns: [internet, ims]}
telemetry: {metrics: true}
core: core_a
core_b: {amf_oam_url: 'http://amf:8000', cdr_dir: ''}
collector: {enabled: false, interval: 15s, mme_url: 'http://127.0.0.2:9090', smf_url: '', upf: {enabled: false, iface: ''}}
fairuse: {enabled: false, usage_interval: 60s}
tls: {enabled: false}
esim: {enabled: true, smdp_address: rsp.example.org, single_use: true}
alerts: {enabled: true}
`
/** Its variables that are read beside the file. */
const VARIABLES = {
  SVC_SERVER_MODE: 'lab',
  SVC_SERVER_COUNTRY: 'LAB',
  SVC_PLMN_MCC: '999',
  SVC_PLMN_MNC: '99',
  SVC_TAC: '7',
  SVC_SOUTHBOUND_DRIVER: 'none',
  SVC_HSS_DRIVER: 'none',
  SVC_HSS_CONTAINER: 'mongo',
  SVC_PEERING_DISABLED: 'false',
  SVC_POLICY_LOCAL_BREAKOUT: 'true',
  SVC_CORE: 'core_a',
  SVC_CORE_B_AMF_OAM_URL: 'http://amf:8000',
  SVC_COLLECTOR_ENABLED: 'false',
  SVC_COLLECTOR_MME_URL: 'http://127.0.0.2:9090',
  SVC_COLLECTOR_UPF_ENABLED: 'false',
  SVC_ESIM_ENABLED: 'true',
  SVC_ESIM_SMDP_ADDRESS: 'rsp.example.org',
  SVC_ESIM_SINGLE_USE: 'true',
  SVC_ALERTS_ENABLED: 'true',
  SVC_FAIRUSE_ENABLED: 'false',
}

/** Its endpoint table: method, path, minimum role where one is stated. */
const ENDPOINTS = `
GET /v1/healthz none|GET /v1/version none|GET /metrics none
GET /v1/status viewer|GET /v1/nodes viewer|GET /v1/sims viewer|GET /v1/peers viewer|GET /v1/sessions viewer
GET /v1/policy viewer|GET /v1/tx/arm viewer|PUT /v1/policy operator|POST /v1/spectrum/check operator
POST /v1/lifecycle/transition operator|POST /v1/sims sim:issuer|POST /v1/tx/arm sim:admin
GET /v1/nodes/{id}/enroll|POST /v1/nodes/{id}/enroll|GET /v1/nodes/{id}/leave|POST /v1/nodes/{id}/leave
POST /v1/telemetry|GET /v1/health|GET /v1/sims/{imsi}|POST /v1/sims/{imsi}/revoke|POST /v1/sims/{imsi}/suspend
POST /v1/sims/{imsi}/resume|POST /v1/sims/import|POST /v1/sims/{imsi}/quota|POST /v1/sims/{imsi}/usage
GET /v1/sims/{imsi}/usage|POST /v1/esim/issue|GET /v1/esim/codes|GET /v1/esim/codes/{token}/qr|POST /v1/esim/revoke
POST /es9plus/initiateAuthentication|POST /v1/peers|DELETE /v1/peers/{id}|POST /v1/tx/disarm|GET /v1/alerts
GET /v1/tokens|POST /v1/tokens|DELETE /v1/tokens/{id}|GET /v1/compliance/export|GET /v1/backup|POST /v1/restore
GET /v1/audit`
  .trim()
  .split(/[|\n]/)
  .map((row) => row.split(' '))

/** The record fields of its tables, as `path type`. */
const STATUS =
  'state string|plmn string|tac integer|apns strings|enb.connected boolean|enb.mode string|ue.registered boolean|ue.sim_state string|breakout.mode string|breakout.peer_count integer'
const NODE = 'node_id uuid|name string|state string|plmn string|last_seen timestamp'
const SIM = 'imsi_sha256_12 hash|profile string|state string|apns strings|expires_at timestamp'
const ISSUED = 'issued integer|output_dir string|first.imsi_sha256_12 hash|first.expires_at timestamp'
const PEER = 'name string|state string|endpoint endpoint|routes strings'
const SESSION = 'imsi_sha256_12|apn|ue_ip|state|started_at'
const POLICY =
  'retention_days.sessions integer|retention_days.audit integer|retention_days.metrics integer|rate_limits.sim_issue_per_hour integer|rate_limits.sim_revoke_per_hour integer|sim_swap_cooldown_hours integer|mesh.allow_route_advertise boolean'
const CHECK = 'allowed boolean|gate string|reason string|channels_checked integer'
const TX = 'armed boolean|gates.country_code gate|gates.license_ack gate|gates.allow_list gate'
const ERROR = 'error.code string|error.message string'

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string' && value !== '',
  integer: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  strings: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  uuid: (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value)),
  hash: (value) => /^[0-9a-f]{12}$/.test(String(value)),
  timestamp: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value)),
  endpoint: (value) => /^[a-z]+:\/\/[^/]+:\d+$/.test(String(value)),
  gate: (value) => value === 'set' || value === 'missing',
}

const folder = mkdtempSync(join(tmpdir(), 'steeple-spec-'))
const file = join(folder, 'control.yaml')
let service: Service
let operations: readonly Operation[] = []

specification.before(async () => {
  writeFileSync(file, CONFIG)
  // The flags win over the variables and these over the file: its own addresses are of a whole machine.
  service = await startService({
    flags: ['--config', file, '--log-level', 'debug'],
    env: VARIABLES,
  })
  operations = operationsOf(await fetchOpenApi(service.url))
})

specification.after(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

specification('prints its version by the flag, and says the same at two addresses', async () => {
  const { body } = await get('/v1/version')
  const { stdout, code } = await runSvc(['--version'])
  assert.is(code, 0)
  assert.ok(stdout.includes(body.version), stdout)
  assert.is((await get('/v1/healthz')).body.version, body.version)
})

specification('has every endpoint with its method and its role; lists have pages, changes have keys', () => {
  for (const [method = '', path = '', role] of ENDPOINTS) {
    const found = operations.find((one) => one.method === method && one.path === path)
    const name = `${method} ${path}`
    assert.ok(found !== undefined, name)
    if (role === 'none') assert.equal(found.object.security, [], name)
    else if (role !== undefined) assert.ok(found.object['x-roles'].includes(role), name)
    const parameters = found.parameters.map((parameter) => parameter.name)
    if (method !== 'GET' && !path.startsWith('/es9plus/'))
      assert.ok(parameters.includes('Idempotency-Key'), name)
  }
  for (const key of ['nodes', 'sims', 'peers', 'sessions', 'tokens', 'alerts', 'audit', 'esim/codes']) {
    const found = operations.find((one) => one.method === 'GET' && one.path === `/v1/${key}`)
    const parameters = found?.parameters.map((parameter) => parameter.name) ?? []
    assert.ok(parameters.includes('limit') && parameters.includes('cursor'), key)
  }
})

specification('answers status, nodes, policy and gates in its types, none of them null', async () => {
  const status = await get('/v1/status')
  has(status.body, STATUS)
  assert.ok(['bootstrap', 'registered', 'on-air', 'peered', 'degraded'].includes(status.body.state))
  assert.is(status.body.plmn, '999-99')
  const nodes = await get('/v1/nodes')
  assert.is(nodes.body.nodes.length, 1)
  has(nodes.body.nodes[0], NODE)
  const policy = await get('/v1/policy')
  has(policy.body, POLICY)
  assert.equal(policy.body.retention_days, { sessions: 30, audit: 400, metrics: 90 })
  assert.is(policy.body.sim_swap_cooldown_hours, 24)
  const limits = policy.body.rate_limits
  assert.equal(
    ['sim_issue', 'sim_revoke', 'spectrum_check', 'tx_arm'].map((name) => limits[`${name}_per_hour`]),
    [500, 200, 300, 60],
  )
  const gates = await get('/v1/tx/arm')
  has(gates.body, TX)
  assert.is(gates.body.profile, null)
  const sessions = await get('/v1/sessions')
  assert.equal(sessions.body.sessions, [])
  const fields = Object.keys(recordOf('/v1/sessions', 'sessions'))
  for (const name of SESSION.split('|')) assert.ok(fields.includes(name), name)
})

specification('takes a policy of changed keys alone, and answers the whole', async () => {
  const before = (await get('/v1/policy')).body
  for (const change of [
    { retention_days: { sessions: 31 } },
    { mesh: { allow_route_advertise: true } },
    { sim_swap_cooldown_hours: 25 },
    { rate_limits: { sim_revoke_per_hour: 201 } },
  ]) {
    const { status, body } = await service.request('PUT', '/v1/policy', { body: change })
    assert.is(status, 200)
    has(body, POLICY)
  }
  const after = (await get('/v1/policy')).body
  assert.equal(after.retention_days, { ...before.retention_days, sessions: 31 })
  assert.is(after.mesh.allow_route_advertise, true)
  // A client reads the whole, changes a part and sends the whole.
  assert.is((await service.request('PUT', '/v1/policy', { body: after })).status, 200)
  refused(await service.request('PUT', '/v1/policy', { body: { retention_days: { sessions: 'x' } } }), 400)
})

specification('issues, lists, suspends, resumes, meters and revokes SIMs by their hash', async () => {
  const key = { 'idempotency-key': 'issue-1' }
  const issued = await service.request('POST', '/v1/sims', { headers: key })
  assert.is(issued.status, 201)
  has(issued.body, ISSUED)
  assert.equal((await service.request('POST', '/v1/sims', { headers: key })).body, issued.body)
  assert.is((await service.request('POST', '/v1/sims', { body: { count: 2 } })).body.issued, 2)
  const first = await get('/v1/sims?limit=2')
  const rest = await get(`/v1/sims?limit=2&cursor=${first.body.next_cursor}`)
  assert.is(rest.body.next_cursor, null)
  const sims: readonly Json[] = [...first.body.sims, ...rest.body.sims]
  assert.is(new Set(sims.map((sim) => sim.imsi_sha256_12)).size, 3)
  for (const sim of sims) has(sim, SIM)
  const hash: string = issued.body.first.imsi_sha256_12
  // Hexadecimal characters are so in both cases.
  for (const spelling of [hash, hash.toUpperCase()]) {
    const { status, body } = await get(`/v1/sims/${spelling}`)
    assert.is(status, 200, spelling)
    assert.is(body.imsi_sha256_12, hash)
  }
  for (const [move, state] of [
    ['suspend', 'suspended'],
    ['resume', 'issued'],
    ['revoke', 'revoked'],
  ]) {
    const { status, body } = await service.request('POST', `/v1/sims/${hash}/${move}`)
    assert.is(status, 200, move)
    has(body, SIM)
    assert.is(body.state, state)
  }
  const [, other] = sims.map((sim) => String(sim.imsi_sha256_12)).filter((one) => one !== hash)
  const quota = { body: { quota_bytes: 1000 } }
  assert.is((await service.request('POST', `/v1/sims/${other}/quota`, quota)).status, 200)
  const report = { body: { up_bytes: 1, down_bytes: 2, report_id: 'r-1' } }
  assert.is((await service.request('POST', `/v1/sims/${other}/usage`, report)).status, 200)
  const usage = (await get(`/v1/sims/${other}/usage`)).body
  assert.equal([usage.up_bytes, usage.down_bytes, usage.quota_bytes], [1, 2, 1000])
  const unknown = await get('/v1/sims/000000000000')
  refused(unknown, 404, 'sim_not_found')
  assert.match(unknown.body.error.message, '000000000000')
})

specification('imports by CSV and by JSON', async () => {
  const keys = { ki: '00112233445566778899aabbccddeeff', opc: '00112233445566778899aabbccddeeff' }
  const rows = [{ imsi: '999990000000123', ...keys }]
  const csv = `imsi,ki,opc\n999990000000124,${keys.ki},${keys.opc}\n`
  const type = { 'content-type': 'text/csv' }
  for (const options of [{ body: { sims: rows } }, { body: csv, headers: type }]) {
    const { status, body } = await service.request('POST', '/v1/sims/import', options)
    assert.equal([status, body.imported], [200, 1])
  }
})

specification('issues activation codes at once in the lab, shows and revokes them', async () => {
  const { status, body } = await service.request('POST', '/v1/esim/issue')
  assert.is(status, 201)
  assert.match(body.activation_code, /^LPA:1\$rsp\.example\.org\$[A-Z0-9-]+$/)
  assert.is((await get('/v1/esim/codes')).body.codes[0].token, body.token)
  assert.is((await get(`/v1/esim/codes/${body.token}/qr`)).status, 200)
  const revoked = await service.request('POST', '/v1/esim/revoke', { body: { token: body.token } })
  assert.equal([revoked.status, revoked.body.state], [200, 'revoked'])
})

specification('adds and removes peers', async () => {
  const peer = {
    name: 'b',
    endpoint: 'wg://10.1.1.1:51820',
    public_key: Buffer.alloc(32, 7).toString('base64'),
  }
  const added = await service.request('POST', '/v1/peers', { body: peer })
  assert.is(added.status, 201, JSON.stringify(added.body))
  const [found] = (await get('/v1/peers')).body.peers
  has(found, PEER)
  assert.is(found.handshake_age_s, null)
  assert.is((await service.request('DELETE', `/v1/peers/${added.body.id}`)).status, 204)
  assert.equal((await get('/v1/peers')).body.peers, [])
})

specification('checks spectrum however the channel is named, and names what stands against it', async () => {
  for (const body of [
    { technology: 'lte', channels: [1300] },
    { earfcn: 1300 },
    { channel: 1300, band: 3 },
    { nr_arfcn: 650000 },
    { frequency_mhz: 1842.5 },
  ]) {
    const answer = await service.request('POST', '/v1/spectrum/check', { body })
    assert.is(answer.status, 200, JSON.stringify(body))
    has(answer.body, CHECK)
    assert.equal([answer.body.allowed, answer.body.channels_checked], [false, 1])
  }
})

specification('arms with all gates green alone, whatever the profile, and always disarms', async () => {
  for (const profile of ['lab', '', null, undefined]) {
    const body = { arm: true, profile_id: profile }
    refused(await service.request('POST', '/v1/tx/arm', { body }), 409)
  }
  for (const [path, body] of [
    ['/v1/tx/arm', { arm: false, profile_id: 'lab' }],
    ['/v1/tx/arm', { arm: false }],
    ['/v1/tx/disarm', undefined],
    ['/v1/tx/disarm', {}],
  ] as const) {
    const answer = await service.request('POST', path, { body })
    assert.is(answer.status, 200, path)
    has(answer.body, TX)
    assert.is(answer.body.armed, false)
  }
})

specification('moves the node by the words of its table, and refuses all else as no transition', async () => {
  const move = async (from: string, to: string, force = false): Promise<Answer> =>
    await service.request('POST', '/v1/lifecycle/transition', { body: { from, to, force } })
  assert.is((await move('provision', 'register')).status, 200)
  for (const [from, to] of [
    ['register', 'on-air'],
    ['registered', 'on_air'],
    ['on-air', 'peer'],
    ['peer', 'breakout'],
    ['nonsense', 'degraded'],
  ] as const)
    for (const force of [false, true]) refused(await move(from, to, force), 409, 'invalid_transition')
  assert.is((await get('/v1/status')).body.state, 'registered')
})

specification('takes heartbeats and tells of enrollment', async () => {
  const [node] = (await get('/v1/nodes')).body.nodes
  const beat = { node_id: node.node_id, at: new Date().toISOString(), seq: 1, components: [] }
  const { status } = await service.request('POST', '/v1/telemetry', { body: beat })
  assert.ok(status >= 200 && status < 300, `${status}`)
  for (const what of ['enroll', 'leave'])
    assert.is((await get(`/v1/nodes/${node.node_id}/${what}`)).status, 200, what)
})

specification('makes tokens of each role, which open what the role opens and end when deleted', async () => {
  for (const role of ['admin', 'operator', 'viewer']) {
    for (const wish of [{ role }, { roles: [role] }]) {
      const { status, body } = await service.request('POST', '/v1/tokens', { body: { name: role, ...wish } })
      assert.is(status, 201, JSON.stringify(wish))
      const { token } = body
      assert.is((await service.request('GET', '/v1/status', { token })).status, 200)
      const put = await service.request('PUT', '/v1/policy', { token, body: {} })
      if (role === 'viewer') refused(put, 403)
      else assert.is(put.status, 200)
      assert.is((await service.request('DELETE', `/v1/tokens/${body.id}`)).status, 204)
      refused(await service.request('GET', '/v1/status', { token }), 401)
    }
  }
})

specification('has the transitions in the audit trail and the export', async () => {
  const { body } = await get('/v1/audit?limit=500')
  const actions: readonly string[] = body.entries.map((entry: { action: string }) => entry.action)
  for (const action of ['sim.suspend', 'sim.resume', 'sim.revoke', 'tx.arm', 'tx.disarm', 'policy.update'])
    assert.ok(actions.includes(action), action)
  const moved = body.entries.find(
    (entry: { action: string; outcome: string }) =>
      entry.action === 'lifecycle.transition' && entry.outcome === 'ok',
  )
  assert.ok(moved !== undefined, [...new Set(actions)].join())
  const exported = await get('/v1/compliance/export')
  assert.match(exported.headers.get('content-type') ?? '', 'text/csv')
  assert.match(exported.body, /^sim,/m)
})

specification(
  'has its three series from the first minute, with no label that names a subscriber',
  async () => {
    const { body } = await service.request('GET', '/metrics', { token: undefined })
    assert.match(body, /^svc_sessions_active\{apn="internet",plmn="999-99"\} 0$/m)
    assert.match(body, /^svc_sim_state\{state="issued"\} \d+$/m)
    assert.match(body, /^svc_attach_total\{plmn="999-99"\} 0$/m)
    const labels = [...body.matchAll(/^svc_[a-z_]+\{([^}]*)\}/gm)].map(([, text]) => text).join()
    for (const { imsi_sha256_12: hash } of (await get('/v1/sims')).body.sims)
      assert.not.ok(labels.includes(hash))
  },
)

specification('backs itself up, and refuses what is no backup', async () => {
  const headers = { 'x-backup-passphrase': 'a passphrase of a test' }
  const saved = await service.request('GET', '/v1/backup', { headers })
  assert.is(saved.status, 200)
  const type = { 'content-type': 'application/octet-stream' }
  refused(await service.request('POST', '/v1/restore', { body: 'no backup', headers: type }), 400)
})

specification('limits each kind as the policy says', async () => {
  const limits = { sim_issue_per_hour: 1, sim_revoke_per_hour: 1, spectrum_check_per_hour: 1 }
  const policy = await service.request('PUT', '/v1/policy', { body: { rate_limits: limits } })
  assert.is(policy.status, 200)
  const [sim] = (await get('/v1/sims?state=issued')).body.sims
  const revoke = `/v1/sims/${sim.imsi_sha256_12}/revoke`
  for (const [path, body] of [
    ['/v1/sims', {}],
    [revoke, {}],
    ['/v1/spectrum/check', { earfcn: 1300 }],
  ] as const)
    refused(await service.request('POST', path, { body }), 429)
})

specification.run()

async function get(path: string): Promise<Answer> {
  return await service.request('GET', path)
}

/** Each field of the rows is there, in its type. */
function has(record: unknown, rows: string): void {
  for (const row of rows.split('|')) {
    const [path = '', type = ''] = row.split(' ')
    const value = path.split('.').reduce<unknown>((part, name) => (part as Json | undefined)?.[name], record)
    assert.ok(TYPES[type]?.(value), `${path} is ${JSON.stringify(value)}, not a ${type}`)
  }
}

/** An error of the one shape. */
function refused(answer: Answer, status: number, code?: string): void {
  assert.is(answer.status, status, JSON.stringify(answer.body))
  has(answer.body, ERROR)
  if (code !== undefined) assert.is(answer.body.error.code, code)
}

/** The documented properties of the records of a list. */
function recordOf(path: string, key: string): Json {
  const found = operations.find((one) => one.method === 'GET' && one.path === path)
  const schema = found?.object.responses['200']?.content?.['application/json']?.schema
  const lists = schema?.properties as Readonly<Record<string, { readonly items: Json }>> | undefined
  return lists?.[key]?.items.properties as Json
}
