import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import { type Box, makeBox } from '../harness/mesh/box.ts'
import { boxPlace, makeLan, type Place } from '../harness/mesh/places.ts'

enterOwnMachine(fileURLToPath(import.meta.url))

const peers = suite('e2e/peers')
const INTERFACE = 'svcmesh0'
/** Between two echoes, s: less than the pause of a change of keys. */
const ECHO_S = '0.05'
/** How long an echo may take: what waits while keys change is late and not lost, s. */
const PATIENCE_S = '30'

const folder = mkdtempSync(join(tmpdir(), 'steeple-peers-'))
const echoing = new Set<ChildProcess>()
let north: Box
let south: Box

peers.before(
  async () => {
    makeLan()
    north = await box('north', 1)
    south = await box('south', 2)
    north.place.run('ip', 'address', 'add', '10.21.0.1/32', 'dev', 'lo')
    south.place.run('ip', 'address', 'add', '10.22.0.1/32', 'dev', 'lo')
    await Promise.all([north.start(), south.start()])
  },
  { limitMs: 400_000 },
)

peers.after(async () => {
  for (const child of echoing) child.kill('SIGKILL')
  await Promise.all([north?.kill(), south?.kill()])
  rmSync(folder, { recursive: true, force: true })
})

peers('carries traffic between two boxes that operators have linked by hand', async () => {
  await link(north, south, '10.22.0.1/32')
  await link(south, north, '10.21.0.1/32')
  await eventually(async () => assert.is((await only(north)).state, 'active'))
  await eventually(async () => assert.is((await only(south)).state, 'active'))
  await eventually(() => reaches(north.place, '10.21.0.1', '10.22.0.1'))
  // What is served is what the last look saw.
  await eventually(async () => assert.equal((await only(north)).serving, ['10.22.0.1/32']))
  assert.is((await only(north)).last_endpoint, 'wg://10.9.0.2:51820')
  assert.match(north.place.run('ip', 'route', 'show', 'proto', '178'), /10\.22\.0\.1/)
})

peers('keeps the tunnel over a restart and a kill of the service', async () => {
  const echoes = ping(north.place, '10.21.0.1', '10.22.0.1')
  await north.stop()
  await north.start()
  await south.kill()
  await south.start()
  await eventually(async () => assert.is((await only(south)).state, 'active'))
  assert.equal(await echoes.end(), [])
})

peers('changes the key of a box without losing an echo', async () => {
  const before = await selfOf(north)
  const begun = await asked(north.ask('POST', '/v1/peers/rotate', {}))
  const next = begun.next_public_key
  assert.equal(begun.waiting_for, ['south'])
  const { id } = await only(south)
  await asked(south.ask('POST', `/v1/peers/${id}/rotate`, { public_key: next }))
  await eventually(() => assert.ok(dump(south.place).includes(next)))
  const there = ping(north.place, '10.21.0.1', '10.22.0.1')
  const back = ping(south.place, '10.22.0.1', '10.21.0.1')
  await asked(north.ask('POST', '/v1/peers/rotate', { force: true }))
  await eventually(async () => assert.is((await only(south)).public_key, next))
  await eventually(async () => assert.is((await only(south)).state, 'active'))
  await eventually(() => assert.not.ok(dump(south.place).includes(String(before.public_key))))
  assert.equal([await there.end(), await back.end()], [[], []])
  assert.is((await selfOf(north)).public_key, next)
})

peers('makes a userspace implementation anew that has died', async () => {
  const daemons = processesOf('wireguard-go')
  assert.is(daemons.length, 2)
  for (const pid of daemons) process.kill(pid, 'SIGKILL')
  await eventually(() => reaches(north.place, '10.21.0.1', '10.22.0.1'))
})

peers('removes exactly what it has made when it is unloaded', async () => {
  north.place.run('ip', 'route', 'add', '10.99.0.0/16', 'dev', 'e0')
  await asked(north.ask('POST', '/v1/plugins/mesh/unload', {}))
  assert.not.match(north.place.run('ip', 'link', 'show'), new RegExp(INTERFACE))
  assert.not.match(north.place.run('ip', 'route', 'show'), /10\.22\.0\.1/)
  assert.match(north.place.run('ip', 'route', 'show'), /10\.99\.0\.0\/16/)
  await asked(north.ask('POST', '/v1/plugins/mesh/load', {}))
  await eventually(() => reaches(north.place, '10.21.0.1', '10.22.0.1'))
})

/** Without mDNS nobody but the operators brings the two together. */
async function box(name: string, number: number): Promise<Box> {
  const env = { SVC_PEERING_MDNS: 'false' }
  return await makeBox({ name, place: await boxPlace(number), folder: join(folder, name), env })
}

async function link(on: Box, to: Box, route: string): Promise<void> {
  const { public_key } = await selfOf(to)
  const body = {
    name: to.name,
    endpoint: `wg://${to.place.address}:51820`,
    public_key,
    routes: [route],
    keepalive_s: 1,
  }
  await asked(on.ask('POST', '/v1/peers', body))
}

async function selfOf(box: Box): Promise<Record<string, string>> {
  return await asked(box.ask('GET', '/v1/peers/self'))
}

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
async function only(box: Box): Promise<any> {
  return (await asked(box.ask('GET', '/v1/peers'))).peers[0]
}

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
async function asked(answer: ReturnType<Box['ask']>): Promise<any> {
  const { status, body } = await answer
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)}`)
  return body
}

/** What WireGuard says, without the line of the private key. */
function dump(place: Place): string {
  return place.run('wg', 'show', INTERFACE, 'peers')
}

/** The processes of a program on this machine of the test's own. */
function processesOf(program: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && programOf(name) === program)
    .map(Number)
}

/** Undefined of one that has ended meanwhile: the services start others all the time. */
function programOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined
  }
}

function reaches(place: Place, from: string, to: string): boolean {
  place.run('ping', '-n', '-q', '-c', '1', '-W', '1', '-I', from, to)
  return true
}

/** Echoes until it is ended. `end` waits for one more to come back, and gives the numbers of those that never did. */
function ping(place: Place, from: string, to: string): { end(): Promise<readonly number[]> } {
  const [file = '', ...inside] = place.inside
  const args = [...inside, 'ping', '-n', '-i', ECHO_S, '-W', PATIENCE_S, '-I', from, to]
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  echoing.add(child)
  let text = ''
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString('utf8')
  })
  const done = new Promise<void>((resolve) => child.on('close', () => resolve()))
  // Only whole lines: the last number may still be on its way.
  const back = (): readonly number[] =>
    [...text.matchAll(/icmp_seq=(\d+) .*time=.*\n/g)].map(([, number]) => Number(number))
  return {
    end: async () => {
      const before = Math.max(0, ...back())
      await eventually(() => assert.ok(Math.max(0, ...back()) > before))
      child.kill('SIGINT')
      await done
      const came = new Set(back())
      const last = Math.max(...came)
      return Array.from({ length: last }, (_, index) => index + 1).filter((number) => !came.has(number))
    },
  }
}

peers.run()
