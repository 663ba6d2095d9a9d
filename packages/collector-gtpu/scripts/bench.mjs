// What a tap costs, as JSON: node scripts/bench.mjs. tcpreplay sends in a network namespace of its own, as fast as it can, by
// turns with no tap, with rules by hand and with those of the driver nft, through libpcap in C and through the driver pcap
// where npm pcap was built. Processor time is that of the sender (packets are received in its time: the kernel's part), of the
// kernel's threads that help it, and of the program that counts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runTool } from '@steeple/testkit'
import { CORE, frame, mixed, pcapOf, truthOf } from '../test/support/frames.ts'
import { NEVER, octetsOf, openNft, openPcap } from '../test/support/taps.ts'
import { enterVethNetwork, RECEIVING, SENDING } from '../test/support/veth.ts'
import { openByHand } from './bench/by-hand.mjs'
import { compileInC, openInC } from './bench/in-c.mjs'
import { ofChildren, ofSoftirqThreads, ofThreads, ticksOf } from './bench/processor.mjs'

enterVethNetwork(import.meta.filename)

const ROUNDS = Number(process.env.BENCH_TAP_ROUNDS ?? 3)
const LOOPS = 20
const PACKETS = mixed(50_000, 128)
const TRUTH = truthOf(PACKETS)
const ALL = [...TRUTH.values()].reduce((sum, [up, down]) => sum + up + down, 0)
const SENT = PACKETS.length * LOOPS
/** Before: V8 compiles what is run often. */
const WARM_LOOPS = 4
const SETTLE_MS = 2_000
const IDLE_MS = 10_000
const TICK_MS = 1_000
const POLL_MS = 15_000
const IDLE_POLLS = 40
const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
const capture = join(folder, 'sent.pcap')
writeFileSync(capture, pcapOf(PACKETS.map(frame)))

/** Sends all; packets a second, and what that took the sender and the kernel's threads, ms. */
function send(loops) {
  const [sender, threads] = [ofChildren(), ofSoftirqThreads()]
  const flags = ['--preload-pcap', '--topspeed', `--loop=${loops}`, `--intf1=${SENDING}`]
  const said = runTool('tcpreplay', ...flags, capture)
  const perSecond = Number(/([\d.]+) pps/.exec(said)?.[1])
  return { perSecond, kernelMs: ofChildren() - sender + ofSoftirqThreads() - threads }
}

async function settled(isThere) {
  for (let i = 0; i < 100; i += 1) {
    if (await isThere()) return true
    await delay(100)
  }
  return false
}

/** One of ours, whose counters are compared phone by phone. */
function ours(tap) {
  const isExact = async (loops) => {
    const snapshot = await tap.snapshot(undefined, NEVER)
    const found = octetsOf(snapshot)
    const isSame = ([phone, [up, down]]) => {
      const [seenUp, seenDown] = found.get(phone) ?? [0, 0]
      return seenUp === up * loops && seenDown === down * loops
    }
    return snapshot.lost === 0 && [...TRUTH].every(isSame)
  }
  return { pid: tap.pid, tap, isExact, close: () => tap.close(false) }
}

/** One by hand, of which the sum is compared. */
function ceiling(counter) {
  return { ...counter, isExact: async (loops) => (await counter.octets()) === ALL * loops }
}

/** What it costs when the interface carries nothing, with the looks after it that the service has; % of a core. */
async function idleShare({ tap, pid }) {
  await delay(SETTLE_MS)
  const spent = () => ofThreads() + ofChildren() + (pid === undefined ? 0 : ofThreads(pid))
  const poll = () => tap.snapshot(undefined, NEVER)
  const before = spent()
  if (pid === undefined) {
    for (let i = 0; i < IDLE_POLLS; i += 1) await poll()
    return (100 * (spent() - before)) / (IDLE_POLLS * POLL_MS)
  }
  const begun = performance.now()
  await poll()
  for (let ms = 0; ms < IDLE_MS; ms += TICK_MS) {
    tap.tick()
    await delay(TICK_MS)
  }
  return (100 * (spent() - before)) / (performance.now() - begun)
}

/** One turn of one that counts. */
async function turn(open, isIdleWanted) {
  const counter = await open()
  try {
    send(WARM_LOOPS)
    const isReady = await settled(() => counter.isExact(WARM_LOOPS))
    const { pid } = counter
    const [before, ticks] = pid === undefined ? [0, undefined] : [ofThreads(pid), ticksOf(pid)]
    const { perSecond, kernelMs } = send(LOOPS)
    const isWhole = (await settled(() => counter.isExact(WARM_LOOPS + LOOPS))) && isReady
    const programMs = pid === undefined ? 0 : ofThreads(pid) - before
    const after = pid === undefined ? undefined : ticksOf(pid)
    const user = after === undefined ? 0 : after.user - ticks.user
    const all = after === undefined ? 1 : Math.max(1, user + after.system - ticks.system)
    const idle = isIdleWanted ? await idleShare(counter) : undefined
    return { perSecond, isWhole, kernelMs, userMs: (programMs * user) / all, programMs, idle }
  } finally {
    await counter.close()
  }
}

function hasPcap() {
  try {
    createRequire(import.meta.url)('pcap')
    return true
  } catch {
    return false
  }
}

const least = (values) => Math.min(...values)
const perMillion = (ms) => (ms / 1_000 / SENT) * 1e6
const kernelOf = (turns) => least(turns.map(({ kernelMs }) => perMillion(kernelMs)))

/** Of all turns of one the least disturbed, beside that of those with no tap; s of the processor per million packets. */
function summary(turns, bare) {
  const kernel = kernelOf(turns) - kernelOf(bare)
  const program = least(turns.map(({ programMs }) => perMillion(programMs)))
  const user = least(turns.map(({ userMs }) => perMillion(userMs)))
  return {
    perSecond: Math.max(...turns.map(({ perSecond }) => perSecond)),
    isWhole: turns.every(({ isWhole }) => isWhole),
    cost: kernel + program,
    parts: { kernel, user, system: Math.max(0, program - user) },
    idleShare: turns.at(-1).idle,
  }
}

const inC = compileInC(folder)
const missing = [
  ...(inC.why === undefined ? [] : [`libpcap in C was not measured: ${inC.why}`]),
  ...(hasPcap() ? [] : ['the driver pcap was not measured: npm pcap was not built']),
]
const openers = {
  byHand: () => ceiling(openByHand(RECEIVING, CORE)),
  nft: async () => ours(await openNft()),
  ...(inC.program === undefined
    ? {}
    : { inC: async () => ceiling(await openInC(inC.program, RECEIVING, CORE)) }),
  ...(hasPcap()
    ? { pcap: async () => ours(await openPcap({ folder: mkdtempSync(join(folder, 'pcap')) })) }
    : {}),
}

try {
  send(WARM_LOOPS)
  const load = loadavg()[0]
  const bare = []
  const turns = Object.fromEntries(Object.keys(openers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(send(LOOPS))
    for (const [name, open] of Object.entries(openers)) {
      const isIdleWanted = round === ROUNDS - 1 && (name === 'nft' || name === 'pcap')
      turns[name].push(await turn(open, isIdleWanted))
    }
  }
  const results = Object.fromEntries(Object.entries(turns).map(([name, of]) => [name, summary(of, bare)]))
  const own = { perSecond: Math.max(...bare.map(({ perSecond }) => perSecond)), cost: kernelOf(bare) }
  process.stdout.write(`${JSON.stringify({ sent: SENT, load, missing, own, ...results })}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
