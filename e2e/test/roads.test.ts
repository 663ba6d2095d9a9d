import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { ROOT } from '../harness/launch.ts'
import { fetchOpenApi, type Json, type Operation, operationsOf } from '../harness/openapi.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/*
 * What the API can do, commands can do: each route that changes something has its command, and each member of its body and query an
 * option or argument. `docs/reference/cli.md`, which reference.test.ts holds to the commands, says which these are.
 */
const roads = suite('e2e/roads')

/** A route has this command; members of other names are said by these words, the dash before what no command needs. */
const COMMANDS: Readonly<
  Record<string, readonly [command: string, words?: Readonly<Record<string, string>>]>
> = {
  'POST /v1/alerts/{id}/ack': ['alert ack'],
  'POST /v1/alerts/{id}/silence': ['alert silence', { until: '--for' }],
  'POST /v1/alerts/webhooks/test': ['alert test', { resend: '--resend' }],
  'POST /v1/auth/links': ['console'],
  'POST /v1/auth/recovery-codes': [
    'recovery replace',
    { password: '- standard input', code: '- standard input' },
  ],
  'POST /v1/cards/read': ['sim write'],
  'POST /v1/cards/script': ['sim write', { imsi: '[hashes' }],
  'POST /v1/cards/write': [
    'sim write',
    { imsi: '[hashes', iccid: '- that of the card', adm: '- typed, or from --adm-csv' },
  ],
  'POST /v1/cards/written': ['sim write', { imsi: '[hashes', iccid: '- that of the card' }],
  'POST /v1/clock/confirm': ['clock confirm', { time: '- the time of this moment' }],
  'POST /v1/sims/release': ['core release', { dry_run: '- without --yes' }],
  'POST /v1/core/restart': ['core restart', { dry_run: '- without --yes' }],
  'POST /v1/core/restore-original': ['core restore-original'],
  'POST /v1/core/adopt': ['core adopt', { ours: '--ours' }],
  'POST /v1/core/take-over': ['core take-over', { files: '- those that the plan shows' }],
  'DELETE /v1/esim/certs/{id}': ['esim certs remove'],
  'POST /v1/esim/certs/import': ['esim certs import'],
  'POST /v1/esim/certs/init': ['esim certs init', { curves: '--curve' }],
  'POST /v1/esim/certs/lab-eum': ['esim certs lab-eum', { public_keys: '- made by the command' }],
  'POST /v1/esim/certs/revoke': ['esim certs revoke'],
  'POST /v1/esim/issue': [
    'esim issue',
    {
      imsi_sha256_12: '[hash]',
      batch_id: '--batch',
      ci_pkid: '--ci',
      apns: '--apn',
      ambr: '--downlink-bps',
      expires_at: '--sim-expires-at',
      reach: '- svc sim reach',
      boxes: '- svc sim reach',
    },
  ],
  'POST /v1/esim/revoke': ['esim revoke', { token: '<code>' }],
  'PUT /v1/esim/providers/{id}': [
    'esim provider set',
    { url: '--es2-url', ca: '--server-ca', cert: '--client-cert', key: '--client-key' },
  ],
  'DELETE /v1/esim/providers/{id}': ['esim provider remove'],
  'POST /v1/esim/providers/{id}/password': ['esim provider password'],
  'POST /v1/esim/providers/{id}/order-file': [
    'esim provider order-file',
    { batch_id: '--batch', imsis: '--sim' },
  ],
  'POST /v1/esim/providers/{id}/codes': ['esim provider import'],
  'POST /v1/esim/providers/{id}/order': [
    'esim provider order',
    { batch_id: '--batch', imsis: '--sim', release: '--hold' },
  ],
  'POST /v1/lifecycle/transition': ['lifecycle move'],
  'PUT /v1/log-level': ['log-level'],
  'POST /v1/mesh/invite': ['mesh invite'],
  'POST /v1/mesh/join': ['node join', { url: '<root>' }],
  'POST /v1/mesh/root-address': ['mesh root-address'],
  'POST /v1/mesh/take-root': ['mesh take-root'],
  'POST /v1/mesh/sims/find': ['mesh find', { q: '<text>' }],
  'POST /v1/nodes/{id}/leave': ['node remove'],
  'POST /v1/peers': [
    'peer add',
    { routes: '--route', preshared_key: '--preshared-key', keepalive_s: '--keepalive' },
  ],
  'DELETE /v1/peers/{id}': ['peer remove'],
  'POST /v1/peers/{id}/accept': ['peer accept'],
  'POST /v1/alerts/receivers': [
    'alert receiver add',
    {
      url: '- standard input',
      secret: '- standard input',
      authorization: '- standard input',
      token: '- standard input',
      password: '- standard input',
      resolved: '--no-resolved',
      topic: '- standard input',
      link: '- the console knows its own address',
      room_id: '--room',
      chat_id: '--chat',
    },
  ],
  'DELETE /v1/alerts/receivers/{name}': ['alert receiver remove'],
  'POST /v1/alerts/receivers/{name}/test': ['alert receiver test'],
  'POST /v1/peers/{id}/approve': ['peer approve', { routes: '--route' }],
  'POST /v1/peers/{id}/rotate': ['peer rotate', { public_key: '[next-key]' }],
  'POST /v1/peers/rotate': ['peer rotate'],
  'POST /v1/plugins': ['plugin load'],
  'POST /v1/plugins/{name}/disable': ['plugin disable'],
  'POST /v1/plugins/{name}/enable': ['plugin enable'],
  'POST /v1/plugins/{name}/load': [
    'plugin load',
    { version: '- of the package', rollback: '- svc plugin rollback', folder: '<name|path>' },
  ],
  'POST /v1/plugins/{name}/reload': ['plugin reload'],
  'PUT /v1/plugins/{name}/secrets/{key}': ['secret set', { value: '- standard input' }],
  'DELETE /v1/plugins/{name}/secrets/{key}': ['secret remove'],
  'POST /v1/plugins/{name}/uninstall': ['plugin uninstall'],
  'POST /v1/plugins/{name}/unload': ['plugin unload'],
  'POST /v1/restore': ['restore'],
  'POST /v1/restore/reopen': ['reopen'],
  'POST /v1/sims': ['sim issue', { apns: '--apn', ambr: '--downlink-bps', boxes: '--box' }],
  'POST /v1/sims/{imsi}/forget': ['sim forget'],
  'POST /v1/sims/{imsi}/label': ['sim label', { label: '[text]' }],
  'POST /v1/sims/{imsi}/subscription': ['sim subscription', { apns: '--apn' }],
  'POST /v1/sims/{imsi}/quota': ['sim quota', { quota_bytes: '--bytes', add_bytes: '--add' }],
  'PUT /v1/sims/{imsi}/reach': ['sim reach', { boxes: '--box' }],
  'POST /v1/roaming/reach': ['roaming reach', { ids: '[hash…]', batch_id: '--batch', boxes: '--box' }],
  'PUT /v1/groups/{name}': ['group set', { members: '<file>', state: '<file>', rank: '<file>' }],
  'DELETE /v1/groups/{name}': ['group remove'],
  'POST /v1/groups/{name}/invitations': ['group invite', { name: '<person>', roles: '--role' }],
  'DELETE /v1/groups/{name}/invitations/{person}': ['group uninvite'],
  'PUT /v1/steering': ['group permit', { permitted: '[part…]' }],
  'PUT /v1/software': ['software use', { hours: '- of a group' }],
  'PUT /v1/roaming/boxes/{id}': ['roaming permit', { permitted: '- permit or forbid' }],
  'POST /v1/sims/{imsi}/resume': ['sim resume'],
  'POST /v1/sims/{imsi}/revoke': ['sim revoke'],
  'POST /v1/sims/{imsi}/suspend': ['sim suspend'],
  'POST /v1/sims/adopt': ['sim adopt', { ids: '[hash…]', source: '--other', documents: '--file' }],
  'POST /v1/sims/find': ['sim find', { imsi: '<text…>', iccid: '<text…>', msisdn: '<text…>' }],
  'POST /v1/sims/import': ['sim import', { sims: '<file>' }],
  'POST /v1/spectrum/check': [
    'spectrum check',
    {
      channels: '--channel',
      earfcn: '--channel',
      nr_arfcn: '--channel',
      frequency_mhz: '--frequency',
      bandwidth_mhz: '--bandwidth',
    },
  ],
  'POST /v1/tokens': [
    'token create',
    { roles: '--role', node_name: '--node-name', node_id: '--node-id', kind: '--bootstrap' },
  ],
  'DELETE /v1/tokens/{id}': ['token revoke'],
  'POST /v1/tx/arm': ['tx arm', { arm: '- svc tx disarm', profile_id: '<profile>' }],
  'POST /v1/tx/disarm': ['tx disarm'],
  'PUT /v1/tx/profiles/{id}': [
    'tx profile set',
    { frequency_mhz: '--frequency', bandwidth_mhz: '--bandwidth' },
  ],
  'DELETE /v1/tx/profiles/{id}': ['tx profile remove'],
  'POST /v1/users': ['user add', { roles: '--role', password: '- standard input' }],
  'DELETE /v1/users/{id}': ['user remove'],
  'POST /v1/users/{id}/certificates': ['user cert add', { csr_pem: '- made by the command' }],
  'DELETE /v1/users/{id}/certificates/{serial}': ['user cert remove'],
  'DELETE /v1/users/{id}/passkeys/{passkey}': ['user passkey remove'],
  'POST /v1/users/{id}/reset': ['user reset'],
  'POST /v1/users/{id}/roles': ['user roles', { roles: '<roles…>' }],
  'DELETE /v1/users/invitations/{id}': ['user invitation remove'],
  'POST /v1/users/invitations': ['user invite', { roles: '--role' }],
  'POST /v1/auth/invitation': [
    'user accept',
    { token: '[link]', password: '- standard input', with_qr: '- it draws its own' },
  ],
  'POST /v1/auth/login': [
    'login',
    { username: '<name>', password: '- standard input', code: '- standard input' },
  ],
  'POST /v1/auth/logout': ['logout'],
  'PUT /v1/policy': ['policy set', { '*': '[assignments…]' }],
  'POST /v1/policy/license/documents': ['policy license attach'],
  'DELETE /v1/policy/license/documents/{id}': ['policy license remove'],
  'POST /v1/policy/license/signed': ['policy license take', { '*': '<file>' }],
}

/** Routes without a command, and why. */
const WITHOUT: readonly (readonly [RegExp, why: string])[] = [
  [/^POST \/(gsma\/rsp2\/)?es9plus\//, 'phones speak it'],
  [/^POST \/gsma\/rsp2\/es2plus\//, 'SM-DP+ of providers speak it'],
  [
    /^(POST|DELETE) \/v1\/auth\/(links\/|passkey|password|refresh|sessions)/,
    'of a session in a browser, and of the command itself',
  ],
  [
    /^PUT \/v1\/mesh\/members\/|^POST \/v1\/mesh\/renew|^POST \/v1\/nodes\/\{id\}\/enroll|^POST \/v1\/telemetry|^POST \/v1\/mesh\/sims\/asked|^POST \/v1\/roaming\/(calls|leases)|^PUT \/v1\/desired-state\//,
    'boxes speak it',
  ],
  [/^POST \/v1\/sims\/\{imsi\}\/usage/, 'collectors of others report by it'],
  [/^POST \/v1\/sims\/bulk/, 'the console marks rows; the command is for one SIM, and a shell repeats it'],
  [/^PUT \/v1\/alerts\/receivers/, 'svc alert receiver remove and add do the same'],
  [/^PUT \/v1\/settings/, 'on the command line the file is edited, and svc config check looks at it'],
  [/^PUT \/v1\/users\/invitations\/hashes/, 'a hub draws the tokens: svc group invite'],
  [/^POST \/v1\/users\/\{id\}\/totp/, 'svc user reset does more'],
]

let service: Service
let changes: readonly Operation[] = []

roads.before(async () => {
  service = await startService()
  changes = operationsOf(await fetchOpenApi(service.url)).filter(({ method }) => method !== 'GET')
})
roads.after(async () => {
  await service.stop()
})

roads('has a command for every change of the API, or a reason', () => {
  const missing = changes
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => COMMANDS[name] === undefined && !WITHOUT.some(([pattern]) => pattern.test(name)))
  assert.equal(missing, [])
})

roads('has an option or an argument for all that a change of the API takes', () => {
  const help = readFileSync(join(ROOT, 'docs/reference/cli.md'), 'utf8').split(/^(?=`svc )/m)
  const missing: string[] = []
  for (const operation of changes) {
    const [command, words = {}] = COMMANDS[`${operation.method} ${operation.path}`] ?? []
    if (command === undefined) continue
    const text = help.find((part) => new RegExp(`^\`svc ${command}[ \`]`).test(part))
    if (text === undefined) missing.push(`svc ${command}`)
    for (const name of membersOf(operation)) {
      const word = words[name] ?? words['*'] ?? `--${name.replaceAll('_', '-')}`
      const isArgument = new RegExp(`[<[]${name.replaceAll('_', '-')}[…\\]>]`).test(text ?? '')
      if (!word.startsWith('- ') && !isArgument && !text?.includes(word))
        missing.push(`svc ${command}: ${name}`)
    }
  }
  assert.equal(missing, [])
})

roads(
  'suspends, resumes and revokes alike by the API, in bulk and by command, with the reason in the trail',
  async () => {
    const sims: readonly string[] = (
      await service.request('POST', '/v1/sims', { body: { count: 3 } })
    ).body.sims.map((sim: Json) => sim.imsi_sha256_12)
    for (const [verb, state] of [
      ['suspend', 'suspended'],
      ['resume', 'issued'],
      ['revoke', 'revoked'],
    ] as const) {
      const [alone = '', many = '', typed = ''] = sims
      const reason = `${verb} because`
      const wait = '?wait=10ms'
      const bulk = { body: { action: verb, ids: [many], reason } }
      const one = await service.request('POST', `/v1/sims/${alone}/${verb}${wait}`, { body: { reason } })
      const several = await service.request('POST', `/v1/sims/bulk${wait}`, bulk)
      const command = await svc('sim', verb, typed, '--reason', reason, '--wait', '10ms')
      assert.equal([one.status, several.status, command.state], [200, 200, state])
      assert.is(one.body.detached, command.detached)
      const trail = (await service.request('GET', '/v1/audit?limit=20')).body.entries
      for (const hash of sims) {
        const sim = await service.request('GET', `/v1/sims/${hash}`)
        assert.is(sim.body.state, state)
        const entry = trail.find(
          ({ action, target, detail }: { action: string; target: string; detail: Json }) =>
            (action === `sim.${verb}` && target === hash) ||
            (action === 'sim.bulk' && detail.action === verb && `${detail.ids}`.includes(hash)),
        )
        assert.is(entry?.detail.reason, reason, `${verb} ${sims.indexOf(hash)}`)
      }
    }
  },
)

roads('issues with rates and an end, and withdraws an invitation, by command', async () => {
  const rates = ['--downlink-bps', '5000000', '--uplink-bps', '1000000']
  const issued = await svc('sim', 'issue', ...rates, '--expires-at', '2100-01-01T00:00:00Z')
  const sim = (issued.sims as readonly Json[])[0]
  assert.equal(sim?.ambr, { downlink_bps: 5_000_000, uplink_bps: 1_000_000 })
  assert.is(sim?.expires_at, '2100-01-01T00:00:00.000Z')
  await svc('user', 'invite', 'anna', '--role', 'viewer')
  await svc('user', 'uninvite', 'Anna')
  assert.equal((await service.request('GET', '/v1/users/invitations')).body.invitations, [])
})

roads('starts with each configuration that the check takes, and with none that it refuses', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-roads-'))
  try {
    const a = join(folder, 'a-file')
    writeFileSync(a, 'x')
    const esim = 'enabled: true, smdp_address: rsp.example.org'
    const hook = (name: string): string => `{url: 'https://${name}.example/x', name: a, secret_file: ${a}}`
    const table: readonly (readonly [text: string, isGood: boolean])[] = [
      [`store: {url: 'sqlite:${folder}/new/one/svc.db'}`, true],
      [`plugins: {dir: ${folder}/plugins}`, true],
      [`store: {url: 'sqlite:${a}/svc.db'}`, false],
      [`plugins: {dir: ${a}}`, false],
      [`server: {data_dir: ${a}}`, false],
      [`esim: {${esim}, es2: {notify_url: 'http://operator.example/'}}`, false],
      [`alerts: {enabled: true, webhooks: [${hook('one')}, ${hook('two')}]}`, false],
    ]
    for (const [index, [text, isGood]] of table.entries()) {
      const file = join(folder, `${index}.yaml`)
      writeFileSync(file, `${text}\n`)
      const check = await runSvc(['config', 'check', file])
      assert.is(check.code === 0, isGood, `${text}: ${check.stderr}`)
      if (isGood) await (await startService({ flags: ['--config', file] })).stop()
      else {
        const data = text.startsWith('server') ? [] : ['--data-dir', join(folder, `${index}`)]
        const { code, stderr } = await runSvc(['--config', file, ...data, '--listen', '127.0.0.1:0'])
        assert.is(code, 1, text)
        assert.ok(stderr.includes(check.stderr.trim()), `${text}: ${stderr} for ${check.stderr}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

roads.run()

/** What a command prints as JSON; fails when it does. */
async function svc(...args: readonly string[]): Promise<Json> {
  const place = { SVC_URL: service.url, SVC_TOKEN: service.adminToken }
  const { code, stdout, stderr } = await runSvc([...args, '--json'], place)
  assert.is(code, 0, stderr)
  return JSON.parse(stdout)
}

/** Names that a request may hold in its query and in its body. */
function membersOf({ parameters, object }: Operation): readonly string[] {
  const schema = object.requestBody?.content['application/json']?.schema
  const readOnly = (of: unknown): boolean => (of as { readonly readOnly?: boolean }).readOnly === true
  const body = Object.entries((schema?.properties ?? {}) as Json).filter(([, of]) => !readOnly(of))
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return [...query.map(({ name }) => name), ...body.map(([name]) => name)]
}
