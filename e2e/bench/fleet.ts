import { setTimeout as delay } from 'node:timers/promises'
import { type Following, followAll } from '../harness/mesh/following.ts'
import { fleetOf, type TlsService } from '../harness/mesh/hub.ts'
import { newWireguard, type SimulatedBox } from '../harness/mesh/simulated-box.ts'
import { type Bench, bench, cpuOf, most, program, shareOf, timed, times, told } from './bench.ts'

const BOXES = 1_000
const INTERVAL_MS = 15_000

const heartbeats = bench({
  name: 'heartbeats',
  about: `heartbeats of ${BOXES} boxes every 15 s, each on a connection of its own with mutual TLS`,
  setup: (stage) => fleetOf(stage, BOXES),
  act: async ({ service, boxes }) => {
    await using stage = new AsyncDisposableStack()
    const keys = { key: service.key('node.key'), cert: service.key('node.pem') + service.ca, ca: service.ca }
    const bare = stage.use(await program<string>('bare-tls', keys))
    const taken = async (child: Pick<TlsService, 'child'>, port: number): Promise<number> => {
      const send = (box: SimulatedBox, body: object) => box.askAt(port, 'POST', '/v1/telemetry', body)
      await beat(boxes, 1, send)
      const idle = await shareOf(child, INTERVAL_MS)
      const [beganMs, beganCpuMs] = [performance.now(), cpuOf(child)]
      await times(2, (round) => beat(boxes, 2 + round, send))
      return (100 * (cpuOf(child) - beganCpuMs)) / (performance.now() - beganMs) - idle
    }
    const ceiling = await taken(bare, Number(new URL(bare.said).port))
    const name = `heartbeats of ${BOXES} boxes every ${INTERVAL_MS / 1_000} s over mutual TLS`
    const beside = [`node's own server, which keeps nothing`, ceiling] as const
    return [most(name, await taken(service, service.port), '% of a core', 5, { target: '≤ 5 %', beside })]
  },
})

/** One heartbeat of each, spread over the interval. */
async function beat(
  boxes: readonly SimulatedBox[],
  seq: number,
  send: (box: SimulatedBox, body: object) => Promise<unknown>,
): Promise<void> {
  const beganMs = performance.now()
  const components = ['store', 'core', 'radio', 'hss'].map((name) => ({
    ...{ name, status: 'ok', detail: 'as it should be' },
  }))
  const sent: Promise<unknown>[] = []
  for (const [index, box] of boxes.entries()) {
    const waitMs = beganMs + (index * INTERVAL_MS) / boxes.length - performance.now()
    if (waitMs > 1) await delay(waitMs)
    const body = {
      node_id: box.id,
      at: new Date().toISOString(),
      seq,
      components,
      versions: { svc: '0.1.0' },
    }
    sent.push(send(box, body))
  }
  await Promise.all(sent)
}

const FOLLOWERS = 300

/** Publishes of all at once, then a revocation: how long until everyone knows, and what it costs the root. */
async function news(service: TlsService, boxes: readonly SimulatedBox[], following: Following) {
  await following.untilAllKnow(({ members }) => members.size > boxes.length)
  const [beganMs, beganCpuMs, beganOctets] = [performance.now(), cpuOf(service), octetsOf(boxes)]
  const queue = [...boxes]
  const publish = async (): Promise<void> => {
    for (let box = queue.shift(); box !== undefined; box = queue.shift())
      await box.ask('PUT', `/v1/mesh/members/${box.id}/wireguard`, newWireguard())
  }
  await Promise.all(Array.from({ length: 20 }, publish))
  await following.untilAllKnow(({ told: known }) => known >= boxes.length)
  const took = performance.now() - beganMs
  const cpuS = (cpuOf(service) - beganCpuMs) / 1_000
  const megabytes = (octetsOf(boxes) - beganOctets) / 1e6
  const [victim, ...rest] = boxes
  const outMs = await timed(async () => {
    await following.expel(victim?.id ?? '')
    await following.untilAllKnow(({ members }) => !members.has(victim?.id ?? ''), rest)
  })
  return { took, cpuS, megabytes, outMs }
}

function octetsOf(boxes: readonly SimulatedBox[]): number {
  return boxes.reduce((sum, { octets }) => sum + octets, 0)
}

function membersNews(name: string, isByChanges: boolean): Bench {
  return bench({
    name,
    about: `${FOLLOWERS} boxes tell of themselves at once and one is put out, ${isByChanges ? 'by changes' : 'whole lists'}`,
    setup: (stage) => fleetOf(stage, FOLLOWERS),
    act: async ({ service, boxes }) => {
      await using following = followAll(service, boxes, isByChanges)
      const { took, cpuS, megabytes, outMs } = await news(service, boxes, following)
      const of = `${FOLLOWERS} members, ${isByChanges ? 'changes' : 'whole lists'}`
      if (!isByChanges)
        return [
          told(`until all know what all told (${of})`, took / 1_000, 's'),
          told(`processor time of the root (${of})`, cpuS, 's'),
          told(`octets of it (${of})`, megabytes, 'MB'),
          told(`until all know of a revocation (${of})`, outMs / 1_000, 's'),
        ]
      return [
        most(`until all know what all told (${of})`, took / 1_000, 's', 30),
        most(`processor time of the root (${of})`, cpuS, 's', 15),
        told(`octets of it (${of})`, megabytes, 'MB'),
        most(`until all know of a revocation (${of})`, outMs / 1_000, 's', 5),
      ]
    },
  })
}

/** What a mesh of many boxes costs its root. */
export const FLEET: readonly Bench[] = [
  heartbeats,
  membersNews('members-whole', false),
  membersNews('members-changes', true),
]
