// What a tap costs, as JSON: node scripts/bench.mjs. tcpreplay sends in a network namespace of its own, as fast as it can, with
// no tap, with rules of the kernel, and through libpcap where npm pcap was built. Processor time is that of the sender (the
// packets are received in its time) and of the tap.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runTool } from '@steeple/testkit'
import { frame, mixed, pcapOf, truthOf } from '../test/support/frames.ts'
import { NEVER, octetsOf, openNft, openPcap } from '../test/support/taps.ts'
import { enterVethNetwork, SENDING } from '../test/support/veth.ts'

enterVethNetwork(import.meta.filename)

const LOOPS = Number(process.argv[2] ?? 20)
const PACKETS = mixed(50_000, 128)
const TRUTH = truthOf(PACKETS)
const SENT = PACKETS.length * LOOPS
/** Before: V8 compiles what is run often. */
const WARM_LOOPS = 4
const IDLE_POLLS = 40
const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
const capture = join(folder, 'sent.pcap')
writeFileSync(capture, pcapOf(PACKETS.map(frame)))

/** Processor time of a process, with that of the children that it has waited for, ms. */
const spentMs = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10
}

/** Sends all; packets a second, and what that took of processor time of the tap's process and of everybody's, ms. */
const send = (tapPid, loops = LOOPS) => {
  const before = [spentMs('self'), tapPid === undefined ? 0 : spentMs(tapPid)]
  const said = runTool(
    'tcpreplay',
    '--preload-pcap',
    '--topspeed',
    `--loop=${loops}`,
    `--intf1=${SENDING}`,
    capture,
  )
  const perSecond = Number(/([\d.]+) pps/.exec(said)?.[1])
  return { perSecond, sentMs: spentMs('self') - before[0], before: before[1] }
}

/** Waits until all is counted. */
const isExact = async (tap, loops) => {
  for (let i = 0; i < 300; i += 1) {
    const snapshot = await tap.snapshot(undefined, NEVER)
    const found = octetsOf(snapshot)
    const isSame = [...TRUTH].every(([phone, [up, down]]) => {
      const [seenUp, seenDown] = found.get(phone) ?? [0, 0]
      return seenUp === up * loops && seenDown === down * loops
    })
    if (isSame) return snapshot.lost === 0
    await delay(100)
  }
  return false
}

const hasPcap = () => {
  try {
    createRequire(import.meta.url)('pcap')
    return true
  } catch {
    return false
  }
}

try {
  send(undefined, WARM_LOOPS)
  const bare = send()
  const taps = []
  for (const driver of hasPcap() ? ['nft', 'pcap'] : ['nft']) {
    const own = mkdtempSync(join(folder, driver))
    const tap = driver === 'nft' ? await openNft() : await openPcap({ folder: own })
    send(tap.pid, WARM_LOOPS)
    await isExact(tap, WARM_LOOPS)
    const { perSecond, sentMs, before } = send(tap.pid)
    const isWhole = await isExact(tap, WARM_LOOPS + LOOPS)
    const tapMs = tap.pid === undefined ? 0 : spentMs(tap.pid) - before
    const idleFrom = spentMs('self') + (tap.pid === undefined ? 0 : spentMs(tap.pid))
    const begun = performance.now()
    if (driver === 'nft') await delay(1_500)
    for (let i = 0; i < (driver === 'nft' ? IDLE_POLLS : 1); i += 1) await tap.snapshot(undefined, NEVER)
    if (driver === 'pcap') await delay(5_000)
    const idleMs = spentMs('self') + (tap.pid === undefined ? 0 : spentMs(tap.pid)) - idleFrom
    // A poll each 15 s, or the time that a child has been watched.
    const idleShare =
      driver === 'nft' ? (100 * idleMs) / (IDLE_POLLS * 15_000) : (100 * idleMs) / (performance.now() - begun)
    const cpuSPerMillion = ((sentMs - bare.sentMs + tapMs) / 1_000 / SENT) * 1e6
    taps.push({ driver, perSecond, isWhole, cpuSPerMillion, idleShare })
    await tap.close(false)
  }
  process.stdout.write(`${JSON.stringify({ bare: bare.perSecond, sent: SENT, taps })}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
