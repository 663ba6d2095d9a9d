import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, seededDraw, stretched, suite } from '@steeple/testkit'
import type { Box } from '../harness/mesh/box.ts'
import {
  addressesAt,
  joinMesh,
  MESH_LIMIT,
  peersAt,
  reaches,
  together,
  untilReaches,
  type Village,
  village,
  WAIT_MS,
} from '../harness/mesh/mesh.ts'

enterOwnMachine(import.meta.filename)

const faults = suite('e2e/mesh-faults')
/** From the heal to all seeing and reaching all, on an idle machine. */
const HEALED_MS = 15_000
const DAY_S = 86_400
const KILLS = 5
const OFFERED = '10.77.0.0/16'

let five: Village
let addresses: ReadonlyMap<string, string>

faults.before(async () => {
  five = await village(
    5,
    (number): Record<string, string> => (number === 3 ? { SVC_PEERING_ADVERTISE: OFFERED } : {}),
  )
  for (const box of five.boxes.slice(1)) await joinMesh(box, five.root)
  await together(five.boxes)
  addresses = await addressesAt(five.root)
}, MESH_LIMIT)

faults.after(() => five.end())

function reachesBox(box: Box, name: string): boolean {
  return reaches(box, addresses.get(name) ?? '')
}

async function untilReachesBox(box: Box, name: string): Promise<void> {
  await untilReaches(box, addresses.get(name) ?? '')
}

async function healed(what: string): Promise<void> {
  const ms = await together(five.boxes)
  assert.ok(ms < stretched(HEALED_MS), `${what}: together after ${ms} ms`)
}

/** When the certificate ends by which a member is known; ms since the epoch. */
function certificateEnd(box: Box): number {
  const { certificate_pem: pem } = JSON.parse(
    readFileSync(join(box.dataDir, 'keys/mesh/mesh.json'), 'utf8'),
  ) as { readonly certificate_pem: string }
  return Date.parse(new X509Certificate(pem).validTo)
}

/** The operator looks at the clock and says that it is right. */
async function setClock(box: Box, seconds: number): Promise<void> {
  box.shiftClock(seconds)
  const { status, body } = await box.ask('POST', '/v1/clock/confirm', {})
  assert.is(status, 200, JSON.stringify(body))
}

faults(
  'is two halves while it is parted, and one mesh again when it is healed',
  async () => {
    const islanders = [five.box('box4'), five.box('box5')]
    for (const { place } of islanders) place.strand()
    // Those on one side have each other.
    await untilReachesBox(five.box('box4'), 'box5')
    await untilReachesBox(five.box('box2'), 'box3')
    assert.not.ok(reachesBox(five.box('box4'), 'box2'))
    for (const { place } of islanders) place.fetch()
    await healed('two and three')
    five.root.place.unplug()
    // They need no root.
    await untilReachesBox(five.box('box2'), 'box5')
    five.root.place.plug()
    await healed('the root alone')
  },
  MESH_LIMIT,
)

faults(
  'is whole again after a kill of any box',
  async () => {
    const { root } = five
    const draw = seededDraw(5)
    for (let count = 0; count < KILLS; count += 1) {
      const victim = five.boxes[draw(five.boxes.length)] ?? root
      await victim.kill()
      // Its tunnels stay while its service is away.
      await untilReachesBox(five.boxes.find((box) => box !== victim) ?? root, victim.name)
      await victim.start()
      await healed(`kill of ${victim.name}`)
      assert.equal(await addressesAt(root), addresses)
    }
  },
  MESH_LIMIT,
)

faults(
  'stays one mesh when clocks are a day off',
  async () => {
    const [ahead, behind] = [five.box('box3'), five.box('box4')]
    ahead.shiftClock(DAY_S)
    behind.shiftClock(-DAY_S)
    await healed('clocks that jump')
    for (const box of [ahead, behind]) {
      await box.stop()
      await box.start()
    }
    await healed('a start with a clock that is off')
    for (const box of [ahead, behind]) box.shiftClock(0)
    await healed('clocks that are right again')
  },
  MESH_LIMIT,
)

faults(
  'goes on for a week without its root, and renews its certificates when it is back',
  async () => {
    const { root } = five
    const members = five.boxes.slice(1)
    await root.stop()
    for (const box of members) await setClock(box, 7 * DAY_S)
    for (const box of members) {
      for (const other of members.filter((one) => one !== box)) await untilReachesBox(box, other.name)
    }
    root.shiftClock(7 * DAY_S)
    await root.start()
    await setClock(root, 7 * DAY_S)
    await healed('a week without the root')
    const ends = members.map(certificateEnd)
    for (const box of five.boxes) await setClock(box, 16 * DAY_S)
    await eventually(
      async () => members.every((box, at) => certificateEnd(box) > (ends[at] ?? 0) + DAY_S * 1_000),
      3 * WAIT_MS,
    )
    await healed('renewed certificates')
  },
  MESH_LIMIT,
)

/** How a member says that it is one. */
async function membershipAt(box: Box): Promise<{ readonly status: string; readonly detail: string }> {
  const { body } = await box.ask('GET', '/v1/health')
  const { components } = body as {
    readonly components: readonly Record<'name' | 'status' | 'detail', string>[]
  }
  const found = components.find(({ name }) => name === 'mesh.membership')
  if (found === undefined) throw new Error(`${box.name} says nothing of its membership`)
  return found
}

/** Gives a box another address on the local network in the place of the one that it has. */
function moveTo({ place }: Box, address: string): void {
  place.run('ip', 'addr', 'flush', 'dev', 'e0')
  place.run('ip', 'addr', 'add', `${address}/24`, 'dev', 'e0')
  place.run('ip', 'route', 'add', 'default', 'via', '10.9.0.254')
}

faults(
  'follows its root to another address, and is told of one by hand',
  async () => {
    const { root } = five
    const members = five.boxes.slice(1)
    const moved = '10.9.0.101'
    moveTo(root, moved)
    await eventually(async () => {
      const rootUrls = members.map(
        (box) =>
          (JSON.parse(readFileSync(join(box.dataDir, 'keys/mesh/mesh.json'), 'utf8')) as { root_url: string })
            .root_url,
      )
      return rootUrls.every((url) => url === `https://${moved}:8443`)
    }, WAIT_MS)
    // Its heartbeat may have found the root before the loop that follows it.
    await eventually(
      async () => (await Promise.all(members.map(membershipAt))).every(({ status }) => status === 'ok'),
      WAIT_MS,
    )
    moveTo(root, root.place.address)
    const told = await five.box('box2').svc('mesh', 'root-address', root.url)
    assert.is(told.code, 0, told.stderr)
    await healed('a root that was elsewhere')
  },
  MESH_LIMIT,
)

faults(
  'has another root in the place of one that is lost for good, with its addresses and what was approved',
  async () => {
    const { root } = five
    const rest = five.boxes.slice(1)
    const [heir, offering, using] = [five.box('box2'), five.box('box3'), five.box('box4')]
    const approved = async () => (await peersAt(using)).find(({ node_id: id }) => id === offering.nodeId)
    const policy = await using.ask('PUT', '/v1/policy', { mesh: { allow_route_advertise: true } })
    assert.is(policy.status, 200, JSON.stringify(policy.body))
    const approving = { routes: [OFFERED] }
    const done = await using.ask('POST', `/v1/peers/${(await approved())?.id}/approve`, approving)
    assert.is(done.status, 200, JSON.stringify(done.body))
    await eventually(async () => (await approved())?.serving[0] === OFFERED, WAIT_MS)
    const early = await heir.svc('mesh', 'take-root')
    assert.match(`${early.code} ${early.stderr}`, /^1 .*the root answers/s)
    await root.kill()
    await eventually(async () => (await membershipAt(heir)).status === 'degraded', WAIT_MS)
    const taken = await heir.svc('mesh', 'take-root')
    assert.is(taken.code, 0, taken.stderr)
    for (const box of rest.filter((one) => one !== heir)) {
      const [, token = '', url = ''] =
        new RegExp(`On ${box.name}:\\n +echo (\\S+) \\| svc node join - (\\S+) --leave\\n`).exec(
          taken.stdout,
        ) ?? []
      const joined = await box.svc('node', 'join', token, url, '--leave')
      assert.is(joined.code, 0, joined.stderr)
    }
    await together(rest)
    const now = await addressesAt(heir)
    for (const { name } of rest.filter((one) => one !== heir))
      assert.is(now.get(name), addresses.get(name), name)
    await eventually(async () => (await approved())?.serving[0] === OFFERED, WAIT_MS)
  },
  MESH_LIMIT,
)

faults.run()
