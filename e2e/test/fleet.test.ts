import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import { quantile, shareOf } from '../bench/bench.ts'
import { ownSchema } from '../harness/cluster/own-schema.ts'
import { followAll } from '../harness/mesh/following.ts'
import { fleetOf, type TlsService } from '../harness/mesh/hub.ts'
import { newWireguard, type SimulatedBox } from '../harness/mesh/simulated-box.ts'
import { ask } from '../harness/node-client.ts'

// The root makes an interface, and leaves it.
enterOwnMachine(import.meta.filename)

/** `npm run soak` has a thousand for some minutes; `SVC_FLEET_STORE=postgresql` has their root on `SVC_TEST_PG_URL`. */
const BOXES = Number(process.env.SVC_FLEET_BOXES ?? '30')
const MINUTES = Number(process.env.SVC_FLEET_MINUTES ?? '0.25')
const INTERVAL_MS = 15_000
/** Three intervals of a heartbeat, and the look after it. */
const SILENT_MS = 60_000

const fleet = suite('e2e/fleet', { limitMs: 1_500_000 + MINUTES * 60_000 })
const stage = new AsyncDisposableStack()
let service: TlsService
let boxes: readonly SimulatedBox[]

fleet.before(async () => {
  const schema = process.env.SVC_FLEET_STORE === 'postgresql' ? stage.use(await ownSchema()) : undefined
  ;({ service, boxes } = await fleetOf(stage, BOXES, schema?.url))
})
fleet.after(() => stage.disposeAsync())

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
async function hub(method: string, path: string, body?: object): Promise<any> {
  const answer = await ask(service, method, path, body, { token: service.token })
  assert.ok(answer.status < 300, `${method} ${path} answered ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** What a box of some size tells of itself. */
function heartbeat(id: string, index: number): object {
  const components = Array.from({ length: 20 }, (_, part) => ({
    ...{ name: `part-${part}`, status: 'ok', detail: 'as it should be' },
  }))
  const outage = { kind: 'no_radio', severity: 'critical', title: 'No radio', since: '2026-01-01T00:00:00Z' }
  const node = {
    ...{ lifecycle: 'breakout', plmn: '999-70', on_air: true, radio_connected: true, channel: 'lte 1575' },
    ...{ phones: index % 40, sims: 200, octets_today: index * 1_000_000, backlog: 0 },
    incidents: isIll(index) ? [outage] : [],
  }
  if (isIll(index)) components[0] = { name: 'part-0', status: 'degraded', detail: 'no radio is connected' }
  const versions = { svc: index % 10 === 0 ? '0.1.9' : '0.3.0' }
  return { node_id: id, at: new Date().toISOString(), seq: Date.now(), components, versions, node }
}

/** One of a hundred, the third the first. */
function isIll(index: number): boolean {
  return index % 100 === 3
}

/** One heartbeat of each, spread over `ms`; how long each took. */
async function beat(some: readonly (readonly [SimulatedBox, number])[], ms: number): Promise<number[]> {
  const beganMs = performance.now()
  const took = some.map(async ([box, index], at) => {
    await delay(Math.max(0, beganMs + (at * ms) / some.length - performance.now()))
    const sentMs = performance.now()
    await box.ask('POST', '/v1/telemetry', heartbeat(box.id, index))
    return performance.now() - sentMs
  })
  return await Promise.all(took)
}

function say(what: string, figures: Readonly<Record<string, number | string>>): void {
  const text = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? Math.round(value * 10) / 10 : value}`,
  )
  process.stdout.write(`\n# ${BOXES} boxes: ${what}: ${text.join(', ')}\n`)
}

function residentMb(): number {
  const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const beganMs = performance.now()
  const result = await work()
  return [result, performance.now() - beganMs]
}

fleet('is shown as it is: each box in the list, and all of them in one line', async () => {
  await beat(
    boxes.map((box, index) => [box, index]),
    Math.max(1_000, BOXES * 10),
  )
  const ill = boxes.filter((_, index) => isIll(index)).length
  const [health, healthMs] = await timed(() => hub('GET', '/v1/health'))
  assert.equal(health.boxes, { total: BOXES, well: BOXES - ill, not_well: ill, silent: 0 })
  assert.ok(health.components.length < 80, `${health.components.length} components`)
  const [old, nodesMs] = await timed(() => hub('GET', '/v1/nodes?version=0.1.9&sort=-octets_today&limit=500'))
  assert.is(old.nodes.length, Math.ceil(BOXES / 10))
  assert.equal([old.nodes[0].state, old.nodes[0].channel, old.nodes[0].sims], ['peered', 'lte 1575', 200])
  say('shown', { 'health ms': healthMs, 'health octets': JSON.stringify(health).length, 'nodes ms': nodesMs })
})

fleet('hears of everything that all tell at once, and of one that is put out', async () => {
  await using following = followAll(service, boxes, true)
  await following.untilAllKnow(({ members }) => members.size > boxes.length)
  const [, toldMs] = await timed(async () => {
    const queue = [...boxes]
    const worker = async (): Promise<void> => {
      for (let box = queue.shift(); box !== undefined; box = queue.shift()) {
        const port = await box.serve(() => ({ sims: found(box?.id ?? '') }))
        const wireguard = { ...newWireguard(), address: `127.0.0.1:${port}` }
        await box.ask('PUT', `/v1/mesh/members/${box.id}/wireguard`, wireguard)
      }
    }
    await Promise.all(Array.from({ length: 20 }, worker))
    await following.untilAllKnow(({ told }) => told >= boxes.length)
  })
  const [victim, ...rest] = boxes
  const [, outMs] = await timed(async () => {
    await following.expel(victim?.id ?? '')
    await following.untilAllKnow(({ members }) => !members.has(victim?.id ?? ''), rest)
  })
  boxes = rest
  say('heard', { 'all know what all told s': toldMs / 1_000, 'revocation s': outMs / 1_000 })
})

/** A SIM of every tenth box. */
function found(id: string): readonly object[] {
  const hash = id.replaceAll('-', '').slice(0, 12)
  const has = Number.parseInt(id.slice(0, 2), 16) % 10 === 0
  return has ? [{ imsi_sha256_12: hash, label: `harbour ${hash}`, state: 'issued', iccid_last4: '1234' }] : []
}

fleet('finds SIMs on all boxes, and says which box did not answer', async () => {
  const wanted = boxes.flatMap(({ id }) => found(id)).length
  const search = () => hub('POST', '/v1/mesh/sims/find', { q: 'harbour', limit: 500 })
  const [first, coldMs] = await timed(search)
  assert.is(first.asked, boxes.length + 1)
  // A busy machine may not get through a thousand handshakes in time; then it says so.
  const away = new Set(first.unanswered.map(({ node_id: id }: { readonly node_id: string }) => id))
  assert.is(first.sims.length, boxes.filter(({ id }) => !away.has(id)).flatMap(({ id }) => found(id)).length)
  let warmMs = 0
  await eventually(async () => {
    const [again, ms] = await timed(search)
    warmMs = ms
    assert.equal([again.sims.length, again.unanswered], [wanted, []])
  }, SILENT_MS)
  say('search', { 'first ms': coldMs, 'again ms': warmMs, found: wanted, 'did not answer': away.size })
})

fleet('is borne by its root for a while', async () => {
  const silent = MINUTES >= 2 ? boxes.slice(0, 9) : []
  const silentIds = new Set(silent.map(({ id }) => id))
  const beating = boxes.flatMap((box, index) => (silentIds.has(box.id) ? [] : [[box, index + 1] as const]))
  const [before, took] = [residentMb(), [] as number[]]
  const rounds = Math.max(1, Math.round((MINUTES * 60_000) / INTERVAL_MS))
  const share = shareOf(service, rounds * INTERVAL_MS)
  const looks: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    took.push(...(await beat(beating, INTERVAL_MS)))
    looks.push((await timed(() => hub('GET', '/v1/health')))[1])
  }
  say('borne', {
    minutes: MINUTES,
    'processor %': await share,
    'heartbeat p50 ms': quantile(took, 0.5),
    'p99 ms': quantile(took, 0.99),
    'health p50 ms': quantile(looks, 0.5),
    'MiB before': before,
    'MiB after': residentMb(),
  })
  assert.ok(residentMb() < 2 * before + 100, `${before} MiB, then ${residentMb()} MiB`)
  if (silent.length === 0) return
  // Those that went on are asked for as long as the look at the silent ones takes.
  await eventually(async () => {
    const health = await hub('GET', '/v1/health')
    assert.is(health.boxes.silent, silent.length)
    const [one] = health.incidents.filter(({ kind }: { readonly kind: string }) => kind === 'box_silent')
    assert.equal([one.boxes.count, one.title], [9, '9 boxes do not answer'])
  }, SILENT_MS)
})

fleet.run()
