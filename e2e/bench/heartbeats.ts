import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startedProcesses, urlOf } from '../harness/launch.ts'
import { cpuMs, type Finding } from './measure.ts'

const BOXES = 1_000
/** Boxes that are enrolled at a time. */
const ABREAST = 20
const INTERVAL_MS = 15_000
const ROUNDS = 2
const ADMIN = 'heartbeat-bench-admin-token-0123456789'

interface Box {
  readonly id: string
  readonly agent: https.Agent
}
interface Root {
  readonly port: number
  readonly ca: string
}

/** What heartbeats of 1,000 boxes at 15 s, each on a connection of its own with mutual TLS, cost the service. */
export async function benchHeartbeats(): Promise<readonly Finding[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-heartbeats-'))
  const started = startedProcesses()
  try {
    const service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true', SVC_PEERING_MDNS: 'false' },
    })
    const { port } = new URL(await urlOf(service))
    const root = { port: Number(port), ca: readFileSync(join(dataDir, 'keys', 'mesh-ca.pem'), 'utf8') }
    const boxes: Box[] = []
    while (boxes.length < BOXES)
      boxes.push(...(await Promise.all(Array.from({ length: ABREAST }, () => enrolled(root)))))
    const pid = service.child.pid ?? 0
    await round(root, boxes, 1)
    const idle = await share(pid, () => delay(INTERVAL_MS))
    const busy = await share(pid, async () => {
      for (let n = 2; n < 2 + ROUNDS; n += 1) await round(root, boxes, n)
    })
    for (const { agent } of boxes) agent.destroy()
    const value = 100 * (busy - idle)
    const name = `heartbeats of ${BOXES} boxes every ${INTERVAL_MS / 1_000} s over mutual TLS`
    return [{ name, value, unit: '% of a core', target: '≤ 5 %', isMet: value <= 5 }]
  } finally {
    started.endAll()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The share of a core that a process uses meanwhile. */
async function share(pid: number, work: () => Promise<void>): Promise<number> {
  const [beganMs, beganCpuMs] = [performance.now(), cpuMs(pid)]
  await work()
  return (cpuMs(pid) - beganCpuMs) / (performance.now() - beganMs)
}

/** One heartbeat of each, spread over the interval. */
async function round(root: Root, boxes: readonly Box[], seq: number): Promise<void> {
  const beganMs = performance.now()
  const sent: Promise<void>[] = []
  for (const [index, { id, agent }] of boxes.entries()) {
    const waitMs = beganMs + (index * INTERVAL_MS) / boxes.length - performance.now()
    if (waitMs > 1) await delay(waitMs)
    const body = {
      node_id: id,
      at: new Date().toISOString(),
      seq,
      components: ['store', 'core', 'radio', 'hss'].map((name) => ({
        name,
        status: 'ok',
        detail: 'as it should be',
      })),
      versions: { svc: '0.1.0' },
    }
    sent.push(ask(root, agent, 'POST', '/v1/telemetry', body, {}, 202).then(() => undefined))
  }
  await Promise.all(sent)
}

async function enrolled(root: Root): Promise<Box> {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const admin = { authorization: `Bearer ${ADMIN}` }
  const id = randomUUID()
  const agentOf = (more: https.AgentOptions): https.Agent =>
    new https.Agent({ keepAlive: true, maxSockets: 1, ca: root.ca, ...more })
  const anonymous = agentOf({})
  const { token } = await ask(
    root,
    anonymous,
    'POST',
    '/v1/tokens',
    { name: id, kind: 'bootstrap' },
    admin,
    201,
  )
  const body = { csr_pem: csrOf(key), name: `bench-${id.slice(0, 8)}` }
  const bearer = { authorization: `Bearer ${token}` }
  const { certificate_pem } = await ask(root, anonymous, 'POST', `/v1/nodes/${id}/enroll`, body, bearer, 200)
  anonymous.destroy()
  const keyPem = key.export({ format: 'pem', type: 'pkcs8' }).toString()
  return { id, agent: agentOf({ key: keyPem, cert: certificate_pem ?? '' }) }
}

function ask(
  root: Root,
  agent: https.Agent,
  method: string,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>>,
  status: number,
): Promise<Readonly<Record<string, string>>> {
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const all = {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
    }
    const options = { host: '127.0.0.1', port: root.port, agent, method, path, headers: all }
    const request = https.request(options, (response) => {
      let answer = ''
      response.on('data', (chunk) => {
        answer += chunk
      })
      response.on('end', () => {
        if (response.statusCode === status) resolve(JSON.parse(answer))
        else reject(new Error(`${path} answered ${response.statusCode} ${answer}`))
      })
    })
    request.on('error', reject)
    request.end(text)
  })
}

/** A certificate request with an empty subject: PKCS#10, RFC 2986 §4. */
function csrOf(key: KeyObject): string {
  const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
    const body = Buffer.concat(parts)
    const length = body.length < 0x80 ? [body.length] : [0x81, body.length]
    return Buffer.concat([Buffer.from([tag, ...length]), body])
  }
  const spki = createPublicKey(key).export({
    format: 'der',
    type: 'spki',
  })
  const info = der(0x30, Buffer.from([0x02, 0x01, 0x00]), der(0x30), spki, der(0xa0))
  const signature = der(0x03, Buffer.from([0]), sign('sha256', info, key))
  const octets = der(0x30, info, Buffer.from('300a06082a8648ce3d040302', 'hex'), signature)
  return `-----BEGIN CERTIFICATE REQUEST-----\n${octets.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}
