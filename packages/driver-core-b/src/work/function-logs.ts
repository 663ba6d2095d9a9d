import { type Engine, lastWords, newLinesOfOutput } from '@steeple/southbound'
import { plainLine } from '../diagnose/amf-log.ts'
import type { NetworkFunction } from '../render/functions.ts'

/** Lines of a function that say how one of its interfaces does: the last one of either kind holds. Texts of 3.4 and 4.2. */
interface Telling {
  readonly well: RegExp
  readonly ill: RegExp
  readonly words: string
}

const TELLING: Readonly<Partial<Record<NetworkFunction, Telling>>> = {
  amf: {
    well: /\bListen on \S/,
    ill: /\b(Failed to listen: .*)/,
    words:
      'it does not listen for base stations (N2), see core_b.addresses.n2 and whether its kernel has SCTP',
  },
  smf: {
    well: /Received PFCP Association Setup Accepted Response from UPF/,
    ill: /(Failed to setup an association with UPF.*|PFCP Heartbeat error: .*)/,
    words: 'it has no PFCP association with the UPF (N4), so nobody gets a session',
  },
}

/** A function may have spoken so much before the engine notes its start, ms. */
const EARLY_MS = 300

/** What is known of one run of a container. */
interface Heard {
  readonly startedAtMs: number
  readonly position: string
  readonly problem: string | undefined
}

/** What functions say of their interfaces that nobody can be asked about. */
export interface FunctionLogs {
  /** What the function in `container` complains of since its last start; undefined when of nothing, or nobody can tell. */
  problemOf(nf: NetworkFunction, container: string, signal: AbortSignal): Promise<string | undefined>
}

/** Reads the output of containers, each line once. */
export function functionLogs(engine: Engine): FunctionLogs {
  const heard = new Map<string, Heard>()
  return {
    problemOf: async (nf, container, signal) => {
      const telling = TELLING[nf]
      const startedAtMs = telling && (await engine.inspect(container, signal))?.startedAtMs
      if (telling === undefined || startedAtMs === undefined) return undefined
      const known = heard.get(container)
      const before = known?.startedAtMs === startedAtMs ? known : begun(startedAtMs)
      const { lines, position } = await newLinesOfOutput(engine, container, before.position, signal)
      let { problem } = before
      for (const line of lines.map(plainLine)) {
        if (telling.well.test(line)) problem = undefined
        const complaint = telling.ill.exec(line)?.[1]
        if (complaint !== undefined) problem = `${telling.words}: ${lastWords(complaint)}`
      }
      heard.set(container, { startedAtMs, position, problem })
      return problem
    },
  }
}

function begun(startedAtMs: number): Heard {
  const position = JSON.stringify({ at: new Date(startedAtMs - EARLY_MS).toISOString(), count: 0 })
  return { startedAtMs, position, problem: undefined }
}
