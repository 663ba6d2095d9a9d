import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { assert, suite } from '@steeple/testkit'
import { HELD_BY, sampleOf, type TokenRole } from '../harness/contract-roles.ts'
import { urlOf } from '../harness/launch.ts'
import { ask, overOf } from '../harness/node-client.ts'
import { type OpenApi, type Operation, operationsOf } from '../harness/openapi.ts'
import { type Answer, runSvc, startedProcesses } from '../harness/service.ts'
import type { Pair } from '../harness/tls-witness.ts'

const ADMIN = 'operator-principals-token-0123456789'
const NOBODY = '00000000-0000-4000-8000-000000000000'
const ROLES: readonly TokenRole[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']

const principals = suite('e2e/operator-principals', { limitMs: 600_000 })
const started = startedProcesses()

let folder: string
let url: string
let port: number
let ca: string
let operations: readonly Operation[]
/** More than 60 refusals a minute are too many of one principal, and a role is refused more routes: two of each ask in turn. */
const EACH = ['first', 'second'] as const
const pairs = new Map<string, Pair>()

const nameOf = (role: TokenRole, which: (typeof EACH)[number] = 'first'): string =>
  `the-${which}-${role.replace(':', '-')}`
const by = (pair: Pair | undefined, method: string, path: string, body?: unknown): Promise<Answer> =>
  ask({ port, ca }, method, path, body, pair === undefined ? { token: ADMIN } : { pair })

principals.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-operator-principals-'))
  const dataDir = join(folder, 'data')
  const service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true' },
  })
  url = await urlOf(service)
  port = Number(new URL(url).port)
  const caFile = join(dataDir, 'keys', 'mesh-ca.pem')
  ca = readFileSync(caFile, 'utf8')
  const people = ROLES.flatMap((role) => EACH.map((which) => ({ role, name: nameOf(role, which) })))
  for (const { role, name } of people) {
    const home = join(folder, name)
    const env = { SVC_URL: url, SVC_TOKEN: ADMIN, SVC_CA: caFile, HOME: home }
    for (const args of [
      ['user', 'add', name, '--role', role],
      ['user', 'cert', name, '--use'],
    ]) {
      const { code, stderr } = await runSvc([...args, '--json'], env)
      assert.is(code, 0, stderr)
    }
    const identity = join(home, '.config', 'svc')
    pairs.set(name, { cert: join(identity, 'cert.pem'), key: join(identity, 'key.pem') })
  }
  const { body } = await by(undefined, 'GET', '/v1/openapi.json')
  // The service's own document.
  operations = operationsOf(body as OpenApi)
})

principals.after(() => {
  started.endAll()
  rmSync(folder, { recursive: true, force: true })
})

principals('open by certificate what their roles open, and nothing else', async () => {
  const counts = { refused: 0, welcome: 0 }
  for (const [index, operation] of operations.entries()) {
    const which = index % 2 === 0 ? 'first' : 'second'
    for (const role of operation.object['x-roles'].length === 0 ? [] : ROLES) {
      const outcome = await judge(operation, role, which)
      if (outcome !== undefined) counts[outcome] += 1
    }
  }
  assert.ok(counts.refused > 100 && counts.welcome > 50, JSON.stringify(counts))
})

principals('lose a role, and everything, on connections that are open', async () => {
  const { body } = await by(undefined, 'GET', '/v1/users?limit=500')
  const [user] = body.users.filter(({ name }: { readonly name: string }) => name === nameOf('operator'))
  const pair = pairs.get(nameOf('operator'))
  assert.is((await by(pair, 'GET', '/v1/audit?limit=1')).status, 200)
  const stream = await eventStream(pair)
  assert.is(
    (await by(undefined, 'POST', `/v1/users/${user.id}/roles`, { roles: ['sim:issuer'] })).status,
    200,
  )
  assert.is((await by(pair, 'GET', '/v1/audit?limit=1')).status, 403)
  assert.is((await by(pair, 'GET', '/v1/sims?limit=1')).status, 200)
  const ended = overOf(stream)
  assert.is((await by(undefined, 'DELETE', `/v1/users/${user.id}`)).status, 204)
  await ended
  const late = await by(pair, 'GET', '/v1/sims?limit=1')
  assert.equal([late.status, late.body.error.code], [401, 'certificate_revoked'])
})

/** What a change does is for other tests: here it is who may ask, so that one that is let in is not sent. */
async function judge(
  operation: Operation,
  role: TokenRole,
  which: (typeof EACH)[number],
): Promise<'refused' | 'welcome' | undefined> {
  const isIn = HELD_BY[role].some((held) => operation.object['x-roles'].includes(held))
  if (isIn && operation.method !== 'GET') return undefined
  const { path, body } = sampleOf(operation, NOBODY)
  const { status, body: said } = await by(pairs.get(nameOf(role, which)), operation.method, path, body)
  const what = `${operation.method} ${path} as ${role}: ${status} ${JSON.stringify(said).slice(0, 200)}`
  if (isIn) assert.ok(status !== 401 && status !== 403, what)
  else assert.is(status, 403, what)
  return isIn ? 'welcome' : 'refused'
}

/** A connection on which an event stream has begun. */
function eventStream(pair: Pair | undefined): Promise<tls.TLSSocket> {
  if (pair === undefined) throw new Error('there is no certificate')
  const client = { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca, ...client }, () =>
      socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n'),
    )
    socket.on('error', reject)
    socket.setEncoding('utf8').on('data', (text: string) => {
      if (text.startsWith('HTTP/1.1 200')) resolve(socket)
    })
  })
}

principals.run()
