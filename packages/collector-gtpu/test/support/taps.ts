import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock, Log } from '@steeple/contracts'
import { eventually, runTool } from '@steeple/testkit'
import { type ChildTap, createChildTap } from '../../src/child/child-tap.ts'
import { interfacePackets } from '../../src/interface-packets.ts'
import { insidePlace } from '../../src/nft/inside.ts'
import { NftTap } from '../../src/nft/nft-tap.ts'
import { nftRun } from '../../src/nft/run-nft.ts'
import type { TapCounter, TapSnapshot, UpfTap } from '../../src/upf-tap.ts'
import { type Carried, CORE, CORE_6, frame, pcapOf } from './frames.ts'
import { RECEIVING, SENDING } from './veth.ts'

/** As it is built: it starts in a third of the time that its sources take, and dozens of times. */
export const PROGRAM: string = fileURLToPath(new URL('../../dist/tap-main.js', import.meta.url))

export const NEVER: AbortSignal = new AbortController().signal
/** How long a child may take to come up on a busy machine. */
const UP_MS = 60_000

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
export const noLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** A folder of a test, in memory or not. */
export function folder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'steeple-tap-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A tap by rules, which are in place when it resolves. */
export async function openNft(
  iface: string = RECEIVING,
  core: readonly string[] = [CORE, CORE_6],
  inside: readonly string[] = [],
): Promise<UpfTap & AsyncDisposable> {
  const place = {
    table: 'steeple_gtpu_test',
    iface,
    v4: core.filter((address) => !address.includes(':')),
    v6: core.filter((address) => address.includes(':')),
  }
  const carried = (): number | undefined => interfacePackets(iface)
  const tap = new NftTap({
    place,
    inside: insidePlace(inside),
    clock: systemClock,
    run: nftRun(),
    carried,
  })
  await tap.snapshot(undefined, NEVER)
  return Object.assign(tap, { [Symbol.asyncDispose]: () => tap.close(false) })
}

export interface PcapPlace {
  readonly folder: string
  readonly iface?: string
  readonly bufferBytes?: number
  readonly core?: readonly string[]
  readonly clock?: Clock
}

/** A tap by npm `pcap`, which looks when it resolves. */
export async function openPcap(place: PcapPlace): Promise<ChildTap> {
  const tap = startPcap(place)
  await isLooking(tap)
  return tap
}

/** As `openPcap`, without waiting. */
export function startPcap(place: PcapPlace): ChildTap {
  const {
    iface = RECEIVING,
    bufferBytes = 64 * 1024 * 1024,
    core = [CORE, CORE_6],
    clock = systemClock,
  } = place
  return createChildTap({
    order: { driver: 'pcap', iface, core, bufferBytes },
    folder: place.folder,
    capture: '',
    clock,
    log: noLog,
    program: PROGRAM,
  })
}

export function startFile(ownFolder: string, capture: string): ChildTap {
  return createChildTap({
    order: { driver: 'file', iface: '', core: [CORE, CORE_6], bufferBytes: 0 },
    folder: ownFolder,
    capture,
    clock: systemClock,
    log: noLog,
    program: PROGRAM,
  })
}

/** Waits until its child, which may just have been killed, is there and has the interface open. */
export async function isLooking(tap: ChildTap, before?: number): Promise<void> {
  await eventually(() => {
    tap.tick()
    if (tap.pid === before || !tap.isWorking) throw new Error(`the tap does not look: ${tap.state().detail}`)
  }, UP_MS)
}

/** Sends packets on one interface, so that they arrive on the other; all of them have when it returns. */
export function send(packets: readonly Carried[], ...flags: readonly string[]): string {
  return sendFrames(packets.map(frame), ...flags)
}

/** As `send`, of frames. */
export function sendFrames(frames: readonly Buffer[], ...flags: readonly string[]): string {
  return sendOn(SENDING, frames, ...flags)
}

/** As `sendFrames`, on an interface of one's own. */
export function sendOn(iface: string, frames: readonly Buffer[], ...flags: readonly string[]): string {
  const own = folder()
  try {
    const file = join(own.path, 'sent.pcap')
    writeFileSync(file, pcapOf(frames))
    const speed = flags.length === 0 ? ['--topspeed'] : flags
    return runTool('tcpreplay', '--preload-pcap', ...speed, `--intf1=${iface}`, file)
  } finally {
    own.remove()
  }
}

/** What a snapshot says by address. */
export function octetsOf({ counters }: TapSnapshot): ReadonlyMap<string, readonly [number, number]> {
  return new Map(
    counters.map(({ address, upBytes, downBytes }: TapCounter) => [address, [upBytes, downBytes] as const]),
  )
}
