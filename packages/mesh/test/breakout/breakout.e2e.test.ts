import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import {
  type CoreDriver,
  coreDriverRef,
  type Peering,
  peeringRef,
  southboundUnavailable,
} from '@steeple/contracts'
import { assert, enterOwnNetwork, fakeContext, reconcileOne, runTool, suite } from '@steeple/testkit'
import { type BreakoutSeams, breakout, peerRouting } from '../../src/breakout/breakout.ts'
import { kernelForwarding, translationTable } from '../../src/breakout/kernel.ts'
import type { PeeringConfig } from '../../src/config.ts'
import type { Links } from '../../src/links.ts'
import type { Members } from '../../src/members.ts'
import { type Run, systemRun } from '../../src/wireguard/run.ts'

const PORT = 4_242
/** Octets that the port above it gives: more than fit into a few segments. */
const LENGTH = 300_000
const SERVER = `
const { createServer } = require('net')
createServer((socket) => socket.on('error', () => {}).end(Buffer.alloc(${LENGTH}))).listen(${PORT + 1}, '0.0.0.0')
createServer((socket) => socket.end(socket.remoteAddress)).listen(${PORT}, '0.0.0.0', () => console.log('up'))`
/** On a busy machine an answer may take long; that none comes is believed sooner. */
const PATIENCE_MS = 60_000
const IMPATIENCE_MS = 1_500
const CLIENT = `
const [, address, port] = process.argv
const socket = require('net').connect(Number(port), address)
let text = ''
socket.on('data', (piece) => { text += piece })
socket.on('end', () => { console.log(text.length === ${LENGTH} ? 'all of it' : text); process.exit() })
socket.on('error', () => { console.log('nothing'); process.exit() })`

/** A server in another namespace that tells each client the address that it sees it under. Gives what ends it. */
async function tellsSource(inside: readonly string[]): Promise<() => void> {
  const [file = '', ...args] = [...inside, 'setpriv', '--pdeathsig', 'KILL', process.execPath, '-e', SERVER]
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('close', () => reject(new Error('the server ended')))
  })
  return () => child.kill('SIGKILL')
}

/** What the server at that address tells a client in another namespace. */
async function askedFrom(inside: readonly string[], address: string): Promise<string> {
  return await answer(inside, address, PATIENCE_MS)
}

/** Whether all of many octets come from there. */
async function comesWhole(inside: readonly string[], address: string): Promise<boolean> {
  return (await answer(inside, address, 5_000, PORT + 1)) === 'all of it'
}

/** Whether no answer comes. */
async function isUnreachable(inside: readonly string[], address: string): Promise<boolean> {
  return (await answer(inside, address, IMPATIENCE_MS)) === 'nothing'
}

async function answer(
  inside: readonly string[],
  address: string,
  timeout: number,
  port = PORT,
): Promise<string> {
  const [file = '', ...args] = [...inside, process.execPath, '-e', CLIENT, address, String(port)]
  return await new Promise((resolve) => {
    execFile(file, args, { timeout, killSignal: 'SIGKILL' }, (_error, stdout) =>
      resolve(stdout.trim() || 'nothing'),
    )
  })
}

/** Another network namespace, with one leg in this one. */
interface Neighbour {
  /** As `runTool`, inside of it. */
  run(file: string, ...args: readonly string[]): string
  /** Arguments that make a program run inside: `nsenter …`. */
  readonly inside: readonly string[]
  end(): void
}

/** Makes one: `here` is the end of the cable in this namespace, with the address `hereCidr`; its own is `e0`. */
async function neighbour(here: string, hereCidr: string, thereCidr: string): Promise<Neighbour> {
  const holder = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', 'unshare', '-n', 'sh', '-c', 'echo up; exec sleep infinity'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await said(holder)
  const inside = ['nsenter', '-t', String(holder.pid), '-n']
  const runInside = (...command: readonly string[]): string => {
    const [file = '', ...args] = [...inside, ...command]
    return runTool(file, ...args)
  }
  runTool('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', 'e0', 'netns', String(holder.pid))
  runTool('ip', 'addr', 'add', hereCidr, 'dev', here)
  runTool('ip', 'link', 'set', here, 'up')
  runInside('ip', 'link', 'set', 'lo', 'up')
  runInside('ip', 'addr', 'add', thereCidr, 'dev', 'e0')
  runInside('ip', 'link', 'set', 'e0', 'up')
  return { run: runInside, inside, end: () => holder.kill('SIGKILL') }
}

function said(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('error', reject)
    child.once('close', () => reject(new Error('the namespace ended')))
  })
}

enterOwnNetwork(import.meta.filename)

const out = suite('mesh/breakout')
const FORWARDING = '/proc/sys/net/ipv4/ip_forward'
const POOL = '10.45.0.0/16'
const INTERNET = '192.0.2.2'
const BEHIND_PEER = '198.51.100.1'
const LIMIT = { limitMs: 360_000 }
// Of the mesh's interface nothing but its name matters here: a cable stands in for it.
const DEVICE = 'svcmesh0'

let phone: Neighbour
let internet: Neighbour
let peer: Neighbour
const ends: (() => void)[] = []

out.before(async () => {
  phone = await neighbour('ogstun', '10.45.0.1/16', '10.45.0.2/16')
  internet = await neighbour('up0', '192.0.2.1/24', '192.0.2.2/24')
  peer = await neighbour(DEVICE, '100.64.0.1/16', '100.64.0.2/16')
  phone.run('ip', 'route', 'add', 'default', 'via', '10.45.0.1')
  peer.run('ip', 'addr', 'add', `${BEHIND_PEER}/32`, 'dev', 'lo')
  peer.run('ip', 'route', 'add', '192.0.2.0/24', 'via', '100.64.0.1')
  peer.run('ip', 'route', 'add', POOL, 'via', '100.64.0.1')
  for (const one of [phone, internet, peer]) ends.push(await tellsSource(one.inside))
}, LIMIT)

out.before.each(() => {
  writeFileSync(FORWARDING, '0')
  runTool('nft', 'flush', 'ruleset')
  runTool('ip', 'route', 'replace', 'default', 'via', INTERNET)
})

out.after(() => {
  for (const end of ends) end()
  for (const each of [phone, internet, peer]) each.end()
})

interface Turned {
  links: {
    device: string | undefined
    wayOut: boolean
    offered: readonly string[]
    isActive: boolean
    direct?: readonly string[]
  }
  isLocal: boolean
  pools: readonly string[]
}

async function box(over: Partial<Turned> = {}, seams: BreakoutSeams = {}) {
  const turned: Turned = {
    links: { device: undefined, wayOut: false, offered: [], isActive: false },
    isLocal: true,
    pools: [POOL],
    ...over,
  }
  const links: Links = {
    carries: async () => false,
    device: () => turned.links.device,
    active: () => (turned.links.isActive ? 1 : 0),
    hasRoutes: () => turned.links.isActive,
    wayOut: () => (turned.links.wayOut ? { peerId: 'p', name: 'peer' } : undefined),
    offered: () => turned.links.offered,
    direct: () => turned.links.direct ?? [],
    onChange: () => () => undefined,
  }
  const members: Members = {
    overlay: () =>
      turned.links.device === undefined ? undefined : { address: '100.64.0.1', subnet: '100.64.0.0/16' },
    list: () =>
      turned.links.device === undefined
        ? []
        : [
            {
              nodeId: 'p',
              name: 'peer',
              isRoot: true,
              isSelf: false,
              overlayAddress: '100.64.0.2',
              wireguard: undefined,
            },
          ],
    hasPutOut: () => false,
    isRevoked: () => false,
    publish: async () => undefined,
    onChange: () => () => undefined,
  }
  const core: Pick<CoreDriver, 'pools'> = { pools: async () => turned.pools }
  const fake = fakeContext<PeeringConfig>({
    id: 'mesh',
    config: {
      enabled: true,
      mdns: false,
      subnet: '100.64.0.0/16',
      interface: DEVICE,
      listen_port: 51820,
      name: '',
      url: '',
      endpoint: '',
      advertise: [],
      heartbeat: '15s',
      answer_searches: true,
      approve: [],
      backhaul_cap_bytes: 0,
    },
    services: new Map([[coreDriverRef.id, core]]),
  })
  fake.changeSettings({ policy: { local_breakout: turned.isLocal }, southbound: { driver: 'container' } })
  const part = await breakout(fake.context, members, links, seams)
  const [reconciler] = part.reconcilers ?? []
  const handshakeState = part.services?.get(peeringRef.id) as Peering | undefined
  if (reconciler === undefined || handshakeState === undefined) throw new Error('the part lacks something')
  return {
    turned,
    fake,
    pass: () => reconcileOne(reconciler, 'breakout'),
    state: () => handshakeState.state(),
    mode: async () => (await handshakeState.state()).breakout.mode,
    health: async () => (await part.health?.())?.[0],
    end: async (why: 'unload' | 'upgrade' | 'shutdown') => {
      await part.stop?.(why)
      await fake.dispose()
    },
  }
}

function forwarding(): string {
  return readFileSync(FORWARDING, 'latin1').trim()
}

function tables(): string {
  return runTool('nft', 'list', 'tables').trim()
}

out(
  'lets phones out under the address of the box, and takes all of it away again',
  async () => {
    const { pass, mode, end } = await box()
    assert.is(await mode(), 'off')
    assert.ok(await isUnreachable(phone.inside, INTERNET))
    assert.equal(await pass(), { state: 'converged' })
    assert.is(await mode(), 'local')
    assert.is(await askedFrom(phone.inside, INTERNET), '192.0.2.1')
    assert.is(forwarding(), '1')
    await end('unload')
    assert.equal([tables(), forwarding()], ['', '0'])
  },
  LIMIT,
)

out(
  'puts back what somebody has flushed, turned off or added to',
  async () => {
    const { pass, end, fake } = await box()
    await pass()
    const made = runTool('nft', '-s', 'list', 'ruleset')
    const spoils: readonly (readonly string[])[] = [
      ['nft', 'flush', 'ruleset'],
      ['nft', 'flush', 'chain', 'inet', 'svc_breakout', 'out'],
      ['nft', 'add', 'rule', 'inet', 'svc_breakout', 'through', 'drop'],
      ['nft', 'add', 'element', 'inet', 'svc_breakout', 'pools4', '{ 203.0.113.0/24 }'],
      ['sh', '-c', `echo 0 > ${FORWARDING}`],
    ]
    for (const [file = '', ...args] of spoils) {
      runTool(file, ...args)
      await pass()
      assert.is(runTool('nft', '-s', 'list', 'ruleset'), made, args.join(' '))
      assert.is(forwarding(), '1', args.join(' '))
    }
    const lines = (): number => fake.logs.filter(({ message }) => message === 'breakout put right').length
    const before = lines()
    await pass()
    await pass()
    assert.is(lines(), before, 'what is right is left alone')
    await end('unload')
  },
  LIMIT,
)

out(
  'stays through a restart, and the next copy still knows what to turn off',
  async () => {
    const first = await box()
    await first.pass()
    await first.end('shutdown')
    assert.is(await askedFrom(phone.inside, INTERNET), '192.0.2.1')
    const second = await box()
    await second.pass()
    assert.is(await second.mode(), 'local')
    await second.end('unload')
    assert.equal([tables(), forwarding()], ['', '0'])
  },
  LIMIT,
)

out(
  'leaves forwarding on where it was on before, and tables of others alone',
  async () => {
    writeFileSync(FORWARDING, '1')
    runTool('nft', 'add', 'table', 'inet', 'somebody')
    const { pass, end } = await box()
    await pass()
    await end('unload')
    assert.equal([tables(), forwarding()], ['table inet somebody', '1'])
  },
  LIMIT,
)

out(
  'follows policy.local_breakout and says why nothing gets out',
  async () => {
    const { pass, mode, health, fake, end } = await box()
    await pass()
    fake.changeSettings({ policy: { local_breakout: false } })
    assert.ok(fake.enqueued.some(({ resource }) => resource === 'mesh_breakout'))
    await pass()
    assert.equal([await mode(), tables(), forwarding()], ['off', '', '0'])
    assert.match((await health())?.detail ?? '', /policy\.local_breakout is false/)
    await end('unload')
  },
  LIMIT,
)

out(
  'touches nothing for a core that the box does not drive, and takes all away again when it stops driving',
  async () => {
    const { pass, mode, health, fake, end } = await box()
    fake.changeSettings({ southbound: { driver: 'none' } })
    await pass()
    assert.equal([await mode(), tables(), forwarding()], ['off', '', '0'])
    assert.match((await health())?.detail ?? '', /does not drive the core/)
    fake.changeSettings({ southbound: { driver: 'container' } })
    await pass()
    assert.equal([await mode(), forwarding()], ['local', '1'])
    assert.match((await health())?.detail ?? '', /translation and forwarding by this box/)
    fake.changeSettings({ southbound: { driver: 'none' } })
    await pass()
    assert.equal([tables(), forwarding()], ['', '0'])
    await end('shutdown')
  },
  LIMIT,
)

out(
  'sends phones, and only them, through a peer, under the overlay address',
  async () => {
    const { turned, pass, state, end } = await box({ isLocal: false })
    turned.links = { device: DEVICE, wayOut: true, offered: [], isActive: true }
    await pass()
    assert.equal(await state(), {
      isJoined: true,
      isMember: false,
      hasRoutes: true,
      breakout: { mode: 'peer', peerCount: 1 },
    })
    assert.is(await askedFrom(phone.inside, BEHIND_PEER), '100.64.0.1')
    // What the box has a nearer way to goes there.
    assert.match(runTool('ip', 'route', 'get', '192.0.2.2', 'from', '10.45.0.2', 'iif', 'ogstun'), /dev up0/)
    assert.match(runTool('ip', 'route', 'get', BEHIND_PEER), /dev up0/)
    turned.links = { ...turned.links, wayOut: false, isActive: false }
    await pass()
    assert.equal((await state()).breakout, { mode: 'off', peerCount: 0 })
    assert.not.match(runTool('ip', 'rule'), /515[01]/)
    turned.links = { ...turned.links, wayOut: true }
    await pass()
    assert.match(runTool('ip', 'rule'), /5151:\s+from 10\.45\.0\.0\/16 lookup 5150/)
    await end('unload')
    assert.not.match(runTool('ip', 'rule'), /515[01]/)
    assert.equal([tables(), forwarding()], ['', '0'])
  },
  LIMIT,
)

out(
  'falls back to a peer when the own way out goes, and comes back to it',
  async () => {
    const { turned, pass, mode, end } = await box()
    turned.links = { device: DEVICE, wayOut: true, offered: [], isActive: true }
    await pass()
    assert.is(await mode(), 'local')
    runTool('ip', 'route', 'del', 'default')
    await pass()
    assert.is(await mode(), 'peer')
    assert.is(await askedFrom(phone.inside, BEHIND_PEER), '100.64.0.1')
    runTool('ip', 'route', 'add', 'default', 'via', INTERNET)
    await pass()
    assert.is(await mode(), 'local')
    assert.is(await askedFrom(phone.inside, INTERNET), '192.0.2.1')
    await end('unload')
  },
  LIMIT,
)

out(
  'carries for members what it offers, and nothing else',
  async () => {
    const { turned, pass, end } = await box({ pools: [] })
    writeFileSync(FORWARDING, '1')
    turned.links = { device: DEVICE, wayOut: false, offered: [], isActive: true }
    await pass()
    assert.ok(await isUnreachable(peer.inside, INTERNET))
    for (const offered of ['0.0.0.0/0', '192.0.2.0/24']) {
      turned.links = { ...turned.links, offered: [offered] }
      await pass()
      assert.is(await askedFrom(peer.inside, INTERNET), '192.0.2.1', offered)
    }
    turned.links = { ...turned.links, offered: ['192.0.2.128/25'] }
    await pass()
    assert.ok(await isUnreachable(peer.inside, INTERNET))
    await end('unload')
  },
  LIMIT,
)

out(
  'translates no address between phones of two boxes where both take the pools of the other, and else once',
  async () => {
    const { turned, pass, end } = await box()
    turned.links = { device: DEVICE, wayOut: false, offered: [POOL], isActive: true }
    runTool('ip', 'route', 'replace', `${BEHIND_PEER}/32`, 'dev', DEVICE, 'via', '100.64.0.2')
    await pass()
    assert.is(await askedFrom(phone.inside, BEHIND_PEER), '100.64.0.1', 'the peer may have the same pool')
    assert.is(await askedFrom(peer.inside, '10.45.0.2'), '100.64.0.2', 'it was translated on its way in')
    turned.links = { ...turned.links, direct: [`${BEHIND_PEER}/32`] }
    await pass()
    assert.is(await askedFrom(phone.inside, BEHIND_PEER), '10.45.0.2')
    assert.is(await askedFrom(phone.inside, INTERNET), '192.0.2.1')
    runTool('ip', 'route', 'del', `${BEHIND_PEER}/32`)
    await end('unload')
  },
  LIMIT,
)

out(
  'has TCP ask for no more than its way takes, where nobody hears that it is too much',
  async () => {
    const { turned, pass, end } = await box({ isLocal: false })
    turned.links = { device: DEVICE, wayOut: true, offered: [], isActive: true }
    // A cable drops what is longer without a word, as a way does on which "fragmentation needed" is dropped.
    runTool('ip', 'link', 'set', DEVICE, 'mtu', '1300')
    peer.run('ip', 'link', 'set', 'e0', 'gso_max_segs', '1')
    await pass()
    assert.ok(await comesWhole(phone.inside, BEHIND_PEER))
    runTool('nft', 'flush', 'chain', 'inet', 'svc_breakout', 'fit')
    assert.not.ok(await comesWhole(phone.inside, BEHIND_PEER), 'without it nothing gets through')
    runTool('ip', 'link', 'set', DEVICE, 'mtu', '1500')
    await end('unload')
  },
  LIMIT,
)

out(
  'says what is missing where nft is refused, and goes on when it is not',
  async () => {
    const forward = kernelForwarding()
    let isRefused = true
    const tool: Run = async (...call) => {
      if (isRefused) throw southboundUnavailable('nft: not permitted; give the service CAP_NET_ADMIN')
      return await systemRun()(...call)
    }
    const kernel = {
      forwarding: forward,
      table: translationTable(tool, forward),
      routing: peerRouting(tool),
    }
    const { turned, pass, mode, health, end } = await box({}, { kernel })
    turned.pools = []
    assert.equal(await pass(), { state: 'converged' }, 'nothing is asked of it, so nothing is missing')
    assert.is((await health())?.status, 'ok')
    turned.pools = [POOL]
    assert.is((await pass()).state, 'failed')
    assert.equal([await mode(), (await health())?.status], ['off', 'degraded'])
    assert.match((await health())?.detail ?? '', /CAP_NET_ADMIN/)
    isRefused = false
    assert.equal(await pass(), { state: 'converged' })
    assert.equal([await mode(), (await health())?.status], ['local', 'ok'])
    await end('unload')
  },
  LIMIT,
)

out.run()
