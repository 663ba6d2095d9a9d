import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { assert, enterOwnMachine, eventually, stretched, suite } from '@steeple/testkit'
import { about, LACKS } from '../harness/builds/program.ts'
import type { Box } from '../harness/mesh/box.ts'
import {
  addressesAt,
  joinMesh,
  MESH_LIMIT,
  membersAt,
  peersAt,
  reaches,
  together,
  untilReaches,
  type Village,
  village,
  WAIT_MS,
} from '../harness/mesh/mesh.ts'
import { INTERNET, type Place, phonePlace } from '../harness/mesh/places.ts'

const API_PORT = 8_443
const SAID_LIMIT_MS = 60_000

/** A connection of a member to the API of another box that stays open with nothing to say. */
interface HeldConnection {
  readonly to: string
  /** When the other side ended it, as `performance.now()` has it; undefined while it is open. */
  endedMs(): number | undefined
}

/** SHA-256 of the certificate that a box has in its mesh, as a suggestion shows it. */
function fingerprintOf(box: Box): string {
  const { certificate_pem: pem } = membershipOf(box)
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase()
}

/** Opens one with the certificate of `member`, has a request answered over it, and holds it. */
async function holdConnection(member: Box, other: Box): Promise<HeldConnection> {
  const { certificate_pem: cert, ca_pem: ca } = membershipOf(member)
  const socket = connect({
    host: other.place.address,
    port: API_PORT,
    servername: 'box.mesh.internal',
    ca,
    cert,
    key: readFileSync(join(member.dataDir, 'keys/node.key')),
    // Known by its node, not by a host name.
    checkServerIdentity: () => undefined,
  })
  let [said, endedMs]: [string, number | undefined] = ['', undefined]
  socket.on('error', () => undefined)
  socket.on('data', (piece: Buffer) => {
    said += piece.toString('latin1')
  })
  socket.on('close', () => {
    endedMs = performance.now()
  })
  socket.write(`GET /v1/mesh/members HTTP/1.1\r\nhost: ${other.name}\r\n\r\n`)
  await eventually(async () => said.includes(member.nodeId) || endedMs !== undefined, SAID_LIMIT_MS)
  if (!said.startsWith('HTTP/1.1 200'))
    throw new Error(`${other.name} does not take ${member.name}: ${said.slice(0, 200)}`)
  return { to: other.name, endedMs: () => endedMs }
}

function membershipOf(box: Box): { readonly certificate_pem: string; readonly ca_pem: string } {
  return JSON.parse(readFileSync(join(box.dataDir, 'keys/mesh/mesh.json'), 'utf8')) as {
    readonly certificate_pem: string
    readonly ca_pem: string
  }
}

const PORT = 4_242
const CLIENT = `
const socket = require('net').connect(${PORT}, '${INTERNET}')
socket.setTimeout(3000, () => process.exit())
socket.on('data', (piece) => process.stdout.write(piece))
socket.on('error', () => process.exit())`

const SERVER = `
require('net').createServer((socket) => {
  socket.on('error', () => undefined)
  socket.end(socket.remoteAddress)
}).listen(${PORT}, '${INTERNET}', () => console.log('up'))`

/** A server of the internet that tells each client under which address it sees it: a process of the test's machine. */
async function startTeller(): Promise<void> {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    server.stdout.once('data', () => resolve())
    server.once('close', () => reject(new Error('the server of the internet ended')))
  })
  server.unref()
  server.stdout.destroy()
}

/** Under which address the internet sees a place; empty while it does not get there. */
function seenAs(place: Place): string {
  return place.run(process.execPath, '-e', CLIENT)
}

/** Waits until the internet sees a place under that address. */
async function untilSeenAs(place: Place, address: string, limitMs: number): Promise<void> {
  await eventually(async () => seenAs(place) === address, limitMs)
}

enterOwnMachine(import.meta.filename)

const mesh = suite('e2e/mesh')
/** What the mesh is held to after each change, on an idle machine. */
const CONVERGED_MS = 15_000

let five: Village
let root: Box
let phone: Place
let addresses: ReadonlyMap<string, string>

mesh.before(async () => {
  five = await village(5, (number) => {
    if (number === 1) return { SVC_PEERING_ADVERTISE: '0.0.0.0/0' }
    return number === 5 ? { SVC_POLICY_LOCAL_BREAKOUT: 'false' } : {}
  })
  root = five.root
  phone = await phonePlace(five.box('box5').place)
  await startTeller()
}, MESH_LIMIT)

mesh.after(() => five.end())

mesh(
  'suggests boxes that announce themselves, and makes no peer of one from another mesh',
  async () => {
    const others = five.boxes.slice(1).map(({ nodeId }) => nodeId)
    await eventually(async () => {
      const suggested = (await peersAt(root)).filter(({ state }) => state === 'suggested')
      return others.every((id) => suggested.some(({ node_id: nodeId }) => nodeId === id))
    }, WAIT_MS)
    const first = (await peersAt(root)).find(({ state }) => state === 'suggested')
    assert.match(first?.fingerprint ?? '', /^[0-9a-f]{64}$/)
    const accepted = await root.ask('POST', `/v1/peers/${first?.id}/accept`, {})
    assert.equal([accepted.status, accepted.body.error?.code], [409, 'peer_untrusted'])
  },
  MESH_LIMIT,
)

mesh(
  'makes one mesh of five boxes: by one command, and by the API',
  async () => {
    const second = five.box('box2')
    const invited = await root.svc('mesh', 'invite', '--json')
    assert.is(invited.code, 0, invited.stderr)
    const { token, url } = JSON.parse(invited.stdout) as { readonly token: string; readonly url: string }
    const joined = await second.svc('node', 'join', token, url)
    assert.is(joined.code, 0, joined.stderr)
    assert.not.ok(joined.stdout.includes(token))
    for (const box of five.boxes.slice(2)) await joinMesh(box, root)
    const ms = await together(five.boxes)
    assert.ok(ms < stretched(2 * CONVERGED_MS), `${ms} ms`)
    addresses = await addressesAt(root)
    assert.is(new Set(addresses.values()).size, 5)
  },
  MESH_LIMIT,
)

// Which addresses are the phones' is known by the core's driver.
about(['driver-core-a'], mesh)(
  "lets a phone out of another box's breakout, and says so",
  async () => {
    const fifth = five.box('box5')
    assert.is(seenAs(phone), '')
    const policy = await fifth.ask('PUT', '/v1/policy', { mesh: { allow_route_advertise: true } })
    assert.is(policy.status, 200, JSON.stringify(policy.body))
    const way = (await peersAt(fifth)).find(({ node_id: id }) => id === root.nodeId)
    assert.equal(way?.advertised, ['0.0.0.0/0'])
    const approved = await fifth.ask('POST', `/v1/peers/${way?.id}/approve`, { routes: ['0.0.0.0/0'] })
    assert.is(approved.status, 200, JSON.stringify(approved.body))
    await untilSeenAs(phone, root.place.address, WAIT_MS)
    // It is told once all of it is in place: later than the first packet goes out.
    await eventually(async () => {
      const { body } = await fifth.ask('GET', '/v1/status')
      assert.equal(body.breakout, { mode: 'peer', peer_count: 4 })
    })
    await eventually(async () => {
      assert.is((await root.ask('GET', '/v1/status')).body.breakout.peer_count, 4)
    })
    // The box itself keeps its own way.
    assert.is(seenAs(fifth.place), fifth.place.address)
  },
  MESH_LIMIT,
)

mesh(
  'changes a WireGuard key without losing the link for a second',
  async () => {
    const second = five.box('box2')
    const keyOf = async () => (await second.ask('GET', '/v1/peers/self')).body
    const before = await keyOf()
    const [file = '', ...inside] = root.place.inside
    const ping = spawn(file, [...inside, 'ping', '-i', '0.1', '-W', '1', addresses.get('box2') ?? ''])
    let said = ''
    ping.stdout.on('data', (piece: Buffer) => {
      said += piece.toString('latin1')
    })
    await eventually(async () => said.includes('icmp_seq=3'), WAIT_MS)
    const rotated = await second.ask('POST', '/v1/peers/rotate', {})
    assert.is(rotated.status, 200, JSON.stringify(rotated.body))
    await eventually(async () => {
      const now = await keyOf()
      return now.public_key !== before.public_key && now.next_public_key === null
    }, WAIT_MS)
    const sofar = said.length
    await eventually(async () => said.slice(sofar).split('icmp_seq=').length > 20, WAIT_MS)
    ping.kill('SIGINT')
    const heard = [...said.matchAll(/icmp_seq=(\d+)/g)].map(([, seq]) => Number(seq))
    const gap = Math.max(...heard.slice(1).map((seq, at) => seq - (heard[at] ?? seq)))
    assert.ok(gap * 100 < stretched(1_000), `${gap - 1} packets in a row were lost`)
    await together(five.boxes)
  },
  MESH_LIMIT,
)

mesh(
  'puts a box out within seconds, on open connections and in the tunnels',
  async () => {
    const fourth = five.box('box4')
    const others = five.boxes.filter((box) => box !== fourth)
    const held = await Promise.all(others.map((box) => holdConnection(fourth, box)))
    assert.ok(held.every((one) => one.endedMs() === undefined))
    const begun = performance.now()
    const removed = await root.ask('POST', `/v1/nodes/${fourth.nodeId}/leave`)
    assert.is(removed.status, 200, JSON.stringify(removed.body))
    await eventually(
      async () => others.every((box) => !reaches(fourth, addresses.get(box.name) ?? '')),
      WAIT_MS,
    )
    const ms = performance.now() - begun
    // Four echoes that do not come back take two seconds each.
    assert.ok(ms < stretched(10_000 + 8_000), `out after ${ms} ms`)
    await eventually(async () => held.every((one) => one.endedMs() !== undefined), WAIT_MS)
    for (const { to, endedMs } of held) {
      const heldMs = (endedMs() ?? Number.POSITIVE_INFINITY) - begun
      assert.ok(heldMs < stretched(10_000), `${to} held the connection for ${heldMs} ms`)
    }
    await together(others)
  },
  MESH_LIMIT,
)

mesh(
  'takes back who leaves, under the same address, and gives none twice',
  async () => {
    const third = five.box('box3')
    const left = await third.svc('node', 'leave', '--json')
    assert.is(left.code, 0, left.stderr)
    await together(five.boxes.filter(({ name }) => name !== 'box3' && name !== 'box4'))
    assert.is(await joinMesh(third, root), addresses.get('box3'))
    const fourth = five.box('box4')
    if ((await membersAt(fourth)).length > 1) await fourth.ask('POST', `/v1/nodes/${fourth.nodeId}/leave`)
    assert.is(await joinMesh(fourth, root), addresses.get('box4'))
    await together(five.boxes)
    if (!LACKS.has('driver-core-a')) assert.is(seenAs(phone), root.place.address)
  },
  MESH_LIMIT,
)

mesh(
  'accepts a member that it has heard by mDNS and not from the root, which is away',
  async () => {
    const [second, third] = [five.box('box2'), five.box('box3')]
    const left = await third.ask('POST', `/v1/nodes/${third.nodeId}/leave`)
    assert.is(left.body.root_told, true, JSON.stringify(left.body))
    await eventually(async () => !(await membersAt(second)).some(({ name }) => name === 'box3'), WAIT_MS)
    await second.stop()
    await joinMesh(third, root)
    // All that it takes is known there: whom it belongs to, and its own key.
    await eventually(async () => {
      const told = (await membersAt(third)).filter(({ wireguard }) => wireguard !== null)
      return ['box2', 'box3'].every((name) => told.some((one) => one.name === name))
    }, WAIT_MS)
    await root.stop()
    await second.start()
    const heard = async () =>
      (await peersAt(second)).find(
        ({ state, node_id: nodeId }) => state === 'suggested' && nodeId === third.nodeId,
      )
    await eventually(async () => (await heard())?.fingerprint === fingerprintOf(third), WAIT_MS)
    const accepted = await second.ask('POST', `/v1/peers/${(await heard())?.id}/accept`, {})
    assert.is(accepted.status, 200, JSON.stringify(accepted.body))
    assert.equal([accepted.body.source, accepted.body.node_id], ['mdns', third.nodeId])
    await eventually(
      async () => (await peersAt(second)).find(({ node_id: id }) => id === third.nodeId)?.state === 'active',
      WAIT_MS,
    )
    await untilReaches(second, addresses.get('box3') ?? '')
    await root.start()
    await together(five.boxes)
    const [peer] = (await peersAt(second)).filter(({ node_id: id }) => id === third.nodeId)
    assert.is(peer?.source, 'mesh')
  },
  MESH_LIMIT,
)

mesh(
  'keeps its tunnels through a restart of a service',
  async () => {
    const second = five.box('box2')
    await second.stop()
    // The tunnel is there without the service.
    await untilReaches(root, addresses.get('box2') ?? '')
    await second.start()
    await together(five.boxes)
  },
  MESH_LIMIT,
)

mesh.run()
