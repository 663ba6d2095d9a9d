import type { Clock } from '@steeple/contracts'
import type { DaemonLogs } from '@steeple/southbound'
import { textOf } from '../diagnose/refusals.ts'
import type { Daemon } from '../render/roles.ts'

/** What a daemon writes about something that it needs. Recorded from the real ones. */
interface Tale {
  readonly up?: RegExp
  readonly down?: RegExp
  /** It may be lost, or is lost just now: nothing is written when it comes back. `peer`: who can tell afterwards, if the connection is there. */
  readonly doubt?: { readonly words: RegExp; readonly forMs: number; readonly peer?: Daemon }
  readonly problem: string
}

/**
 * freeDiameter takes a peer for suspect after one watchdog (30 s, RFC 3539 §3.4.1), and gives it up after another. It writes of neither the
 * giving up nor of a watchdog that is answered again: then its connection tells.
 */
const diameter = (peer: 'hss' | 'pcrf'): Tale => ({
  up: new RegExp(`^CONNECTED TO '${peer}\\.`),
  down: new RegExp(`-> 'STATE_CLOSED'\\s+'${peer}\\.`),
  doubt: { words: new RegExp(`-> 'STATE_SUSPECT'\\s+'${peer}\\.`), forMs: 75_000, peer },
  problem: `it has no Diameter connection to the ${peer.toUpperCase()}`,
})

/** What no interface of these daemons tells. */
const TALES: Readonly<Partial<Record<Daemon, Tale>>> = {
  sgwc: {
    up: /^PFCP associated |^PFCP\[RE[QS]P?\] has already been associated/,
    down: /^PFCP de-associated /,
    problem: 'it has no PFCP association with the SGW-U',
  },
  mme: diameter('hss'),
  smf: diameter('pcrf'),
  upf: {
    doubt: { words: /^ogs_tun_write\(\) failed|^ogs_read\(\) failed \(77/, forMs: 20_000 },
    problem: 'it cannot use its TUN device',
  },
}

/** Each run of a daemon begins with it. */
const START = /^Configuration: '/
/** Callers within this time share a reading, ms. */
const SHARED_MS = 900

/** Whether two daemons have a Diameter connection now; undefined when their machine cannot be looked at. */
type DiameterLook = (one: Daemon, other: Daemon, signal: AbortSignal) => Promise<boolean | undefined>

/**
 * By what logs tell of a daemon, line by line from where they were read to: what it is without, by its own last word. Undefined when
 * nothing is known to be amiss, or its log cannot be read.
 */
export type LogTales = (daemon: Daemon, signal: AbortSignal) => Promise<string | undefined>

interface Heard {
  position?: string
  isUp: boolean | undefined
  doubtedMs: number
  readMs: number
}

export function logTales(clock: Clock, logs: DaemonLogs, hasDiameter: DiameterLook): LogTales {
  const heard = new Map<Daemon, Heard>()
  const read = async (daemon: Daemon, tale: Tale, signal: AbortSignal): Promise<Heard | undefined> => {
    const one = heard.get(daemon) ?? { isUp: undefined, doubtedMs: Number.NEGATIVE_INFINITY, readMs: 0 }
    const isFirst = one.position === undefined
    if (!isFirst && clock.monotonicMs() - one.readMs < SHARED_MS) return one
    const found = await logs.newLines(daemon, one.position, signal)
    if (found === undefined) return undefined
    if (isFirst) {
      const tail = await logs.tail(daemon, signal)
      if ('text' in tail) take(one, tale, tail.text.split('\n'))
    }
    take(one, tale, found.lines, clock.monotonicMs())
    one.position = found.position
    one.readMs = clock.monotonicMs()
    heard.set(daemon, one)
    return one
  }
  const isSettled = async (
    one: Heard,
    daemon: Daemon,
    { doubt }: Tale,
    signal: AbortSignal,
  ): Promise<boolean> => {
    if (doubt === undefined || one.doubtedMs === Number.NEGATIVE_INFINITY) return true
    if (clock.monotonicMs() - one.doubtedMs < doubt.forMs) return false
    if (doubt.peer !== undefined && (await hasDiameter(daemon, doubt.peer, signal)) === false) return false
    one.doubtedMs = Number.NEGATIVE_INFINITY
    return true
  }
  return async (daemon, signal) => {
    const tale = TALES[daemon]
    if (tale === undefined) return undefined
    try {
      const one = await read(daemon, tale, signal)
      if (one === undefined) return undefined
      if (one.isUp !== false && (await isSettled(one, daemon, tale, signal))) return undefined
      return tale.problem
    } catch {
      signal.throwIfAborted()
      return undefined // an engine that does not answer has its own word in health
    }
  }
}

/** Takes what lines tell, the newest last; `nowMs` of lines that were written just now. */
function take(one: Heard, tale: Tale, lines: readonly string[], nowMs?: number): void {
  for (const line of lines) {
    const text = textOf(line) ?? ''
    if (tale.up?.test(text) === true) {
      one.isUp = true
      one.doubtedMs = Number.NEGATIVE_INFINITY
    } else if (tale.down?.test(text) === true || (START.test(text) && tale.up !== undefined)) one.isUp = false
    else if (tale.doubt?.words.test(text) === true) one.doubtedMs = nowMs ?? one.doubtedMs
  }
}
