import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { assert, eventually, suite } from '@steeple/testkit'
import { about } from '../harness/builds/program.ts'
import { type Sample, sampleOf } from '../harness/contract-roles.ts'
import { insertBatch, type LabProcess, startLabCore } from '../harness/lab-core.ts'
import { urlOf } from '../harness/launch.ts'
import { ask, enrollNode, type NodeClient, overOf, type Root } from '../harness/node-client.ts'
import { type OpenApi, operationsOf } from '../harness/openapi.ts'
import { type Answer, startedProcesses } from '../harness/service.ts'
import { hasTlsWitnesses, openWorkshop, run, type Workshop } from '../harness/tls-witness.ts'

const ADMIN = 'node-principals-admin-token-0123456789'
const ONE = 'aaaaaaaa-1111-4111-8111-aaaaaaaaaaaa'
const OTHER = 'bbbbbbbb-2222-4222-8222-bbbbbbbbbbbb'
const THIRD = 'cccccccc-3333-4333-8333-cccccccccccc'
const LIMIT = { limitMs: 360_000 }

const principals = suite('e2e/node-principals', LIMIT)
const started = startedProcesses()

let workshop: Workshop
let dataDir: string
let lab: LabProcess
let root: Root
let one: NodeClient
let other: NodeClient
let third: NodeClient

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(root, method, path, body, { token: ADMIN })
/** A phone with that SIM is online, and its address lies in a network that is approved for the node. */
async function isBehind(node: NodeClient, sim: { batch_id: string; imsi_sha256_12: string }): Promise<void> {
  await insertBatch(lab, dataDir, sim.batch_id)
  let address = ''
  await eventually(async () => {
    const { body } = await admin('GET', `/v1/sessions?imsi=${sim.imsi_sha256_12}`)
    address = body.sessions[0]?.ue_ip ?? ''
    return address !== ''
  }, LIMIT.limitMs)
  const key = randomBytes(32).toString('base64')
  const told = { public_key: key, listen_port: 51820, advertised: [`${address}/32`] }
  const published = await node.ask('PUT', `/v1/mesh/members/${node.id}/wireguard`, told)
  assert.is(published.status, 200, JSON.stringify(published.body))
  const policy = await admin('PUT', '/v1/policy', { mesh: { allow_route_advertise: true } })
  assert.is(policy.status, 200, JSON.stringify(policy.body))
  let id: string | undefined
  await eventually(async () => {
    const { body } = await admin('GET', '/v1/peers')
    id = body.peers.find((peer: { node_id: string }) => peer.node_id === node.id)?.id
    return id !== undefined
  }, LIMIT.limitMs)
  const approved = await admin('POST', `/v1/peers/${id}/approve`, { routes: told.advertised })
  assert.is(approved.status, 200, JSON.stringify(approved.body))
}
const heartbeat = (id: string, seq: number): object => ({
  node_id: id,
  at: '2026-01-01T00:00:00.000Z',
  seq,
  components: [{ name: 'radio', status: 'ok' }],
})

if (hasTlsWitnesses()) {
  principals.before(async () => {
    workshop = openWorkshop()
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-nodes-'))
    lab = await startLabCore(join(workshop.folder, 'lab'))
    const service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      env: {
        ...lab.env,
        SVC_ADMIN_TOKEN: ADMIN,
        SVC_TLS_ENABLED: 'true',
        SVC_COLLECTOR_ENABLED: 'true',
        SVC_COLLECTOR_INTERVAL: '1s',
      },
    })
    const { port } = new URL(await urlOf(service))
    const ca = readFileSync(join(dataDir, 'keys', 'mesh-ca.pem'), 'utf8')
    root = { port: Number(port), ca, adminToken: ADMIN }
    one = await enrollNode(root, workshop, 'one', ONE)
    other = await enrollNode(root, workshop, 'other', OTHER)
    third = await enrollNode(root, workshop, 'third', THIRD)
  })

  principals.after(async () => {
    started.endAll()
    await lab.stop()
    workshop.remove()
    rmSync(dataDir, { recursive: true, force: true })
  })

  principals('let a node speak for itself', async () => {
    assert.is((await one.ask('POST', '/v1/telemetry', heartbeat(ONE, 1))).status, 202)
    assert.is((await other.ask('POST', '/v1/telemetry', heartbeat(OTHER, 1))).status, 202)
    assert.is((await one.ask('GET', '/v1/mesh/members')).status, 200)
    const renewed = await one.ask('POST', `/v1/nodes/${ONE}/enroll`, { csr_pem: one.csr, name: 'one' })
    assert.equal([renewed.status, renewed.body.node_id], [200, ONE])
  })

  principals('let no route of one node touch the record of another', async () => {
    const before = await recordsOf(OTHER)
    const { body } = await admin('GET', '/v1/openapi.json')
    // The service's own document.
    const operations = operationsOf(body as OpenApi)
    let refused = 0
    for (const [index, operation] of operations.entries()) {
      // Who is refused too often is throttled.
      const asker = index % 2 === 0 ? one : third
      const { method, path } = operation
      const roles = operation.object['x-roles']
      if (roles.length === 0) continue
      const sample = aimed(sampleOf(operation, OTHER), path)
      const answer = await asker.ask(method, sample.path, sample.body)
      const what = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`
      if (roles.includes('node') && !isOfOneNode(sample)) {
        assert.ok(answer.status !== 401, what)
        continue
      }
      assert.is(answer.status, 403, what)
      refused += 1
    }
    assert.ok(refused > 50, String(refused))
    assert.equal(await recordsOf(OTHER), before)
  })

  about(['fair-use', 'collectors', 'collector-mme', 'driver-hss'], principals)(
    'let a report of usage be of nobody but the node that sends it',
    async () => {
      const issued = await admin('POST', '/v1/sims', {})
      const path = `/v1/sims/${issued.body.sims[0].imsi_sha256_12}/usage`
      const report = { up_bytes: 1, down_bytes: 1, report_id: 'node-principals' }
      assert.is((await one.ask('POST', path, { ...report, source: OTHER })).status, 403)
      assert.is((await one.ask('POST', path, report)).body.error.code, 'usage_implausible')
      await isBehind(one, issued.body.sims[0])
      const own = await one.ask('POST', path, report)
      assert.is(own.status, 200)
      assert.equal(Object.keys(own.body.by_source), [`submission:${ONE}`])
    },
  )

  principals(
    'are out on open connections, on new ones and on resumed ones as soon as the node has left',
    async () => {
      const idle = await dial(other)
      const asking = await dial(other)
      const ended = Promise.all([overOf(idle), overOf(asking)])
      assert.is((await admin('POST', `/v1/nodes/${OTHER}/leave`)).status, 200)
      asking.write(`POST /v1/telemetry HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
      await ended
      const late = await other.ask('POST', '/v1/telemetry', heartbeat(OTHER, 2))
      assert.equal([late.status, late.body.error.code], [401, 'certificate_revoked'])
      assert.is((await other.ask('GET', '/v1/healthz')).status, 200)
      // The one that stays is not disturbed.
      assert.is((await one.ask('POST', '/v1/telemetry', heartbeat(ONE, 2))).status, 202)
    },
  )

  principals('are what openssl presents, also in a session that it resumes', async () => {
    const session = join(workshop.folder, 'session')
    const request = `POST /v1/telemetry HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
    const common = [
      's_client',
      '-quiet',
      '-connect',
      `127.0.0.1:${root.port}`,
      '-cert',
      one.pair.cert,
      '-key',
      one.pair.key,
    ]
    const first = await run('openssl', [...common, '-sess_out', session, '-ign_eof'], request)
    // A body is missing; who asks was settled before.
    assert.match(first.stdout, /HTTP\/1\.1 400/)
    assert.is((await one.ask('POST', `/v1/nodes/${ONE}/leave`)).status, 200)
    const second = await run('openssl', [...common, '-sess_in', session, '-ign_eof'], request)
    assert.match(second.stdout, /HTTP\/1\.1 401[\s\S]*certificate_revoked/)
  })
}

/** What there is of a node, without what changes by itself. */
async function recordsOf(id: string): Promise<unknown> {
  const { body: nodes } = await admin('GET', '/v1/nodes?limit=500')
  const { body: members } = await admin('GET', '/v1/mesh/members')
  const enroll = await admin('GET', `/v1/nodes/${id}/enroll`)
  const leave = await admin('GET', `/v1/nodes/${id}/leave`)
  const mine = (rows: readonly object[]): unknown => rows.filter((row) => JSON.stringify(row).includes(id))
  return { nodes: mine(nodes.nodes), members: mine(members.members), enroll: enroll.body, leave: leave.body }
}

/** The same request about the other node: its id in place of every id. */
function aimed(sample: Sample, path: string): Sample {
  const swap = (text: string): string => text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, OTHER)
  const body: unknown = JSON.parse(swap(JSON.stringify(sample.body ?? {})))
  const sent = typeof body === 'object' && body !== null ? { ...body } : body
  return {
    path: swap(path.startsWith('/v1/nodes/{id}') ? path.replace('{id}', OTHER) : sample.path),
    body: sent,
  }
}

function isOfOneNode({ path, body }: Sample): boolean {
  return `${path}${JSON.stringify(body)}`.includes(OTHER)
}

function dial({ pair }: NodeClient): Promise<tls.TLSSocket> {
  const options = { host: '127.0.0.1', port: root.port, ca: root.ca }
  return new Promise((resolve, reject) => {
    const socket = tls.connect(
      { ...options, cert: readFileSync(pair.cert), key: readFileSync(pair.key) },
      () => resolve(socket),
    )
    socket.on('error', reject)
    socket.resume()
  })
}

principals.run()
