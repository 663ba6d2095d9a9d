import type { Octets } from './metered-lab.ts'

type Write = (
  session: string,
  report: { readonly ratingGroup: number; readonly upBytes: number; readonly downBytes: number },
) => boolean

/** As far as it is used; the collector's own tests have it. */
interface ModelChf {
  create(imsi: string): string
  readonly update: Write
  readonly partial: Write
  readonly release: Write
}

const MODEL = new URL('../../packages/collector-cdr/test/support/model-chf.ts', import.meta.url).href

export interface ChargingFiles {
  /** Ends it, with a last report for each subscriber, so that every file shows all of its records. */
  stop(): void
  /** What it has reported of a subscriber. */
  reported(imsi: string): Octets
}

const REPORT_MS = 20
const MOST_OCTETS = 5_000_000

/** Reports of subscribers at random, each in one of its sessions, some of which end and are followed by others. */
export async function growChargingFiles(dir: string, imsis: readonly string[]): Promise<ChargingFiles> {
  const { modelChf } = (await import(MODEL)) as {
    readonly modelChf: (dir: string, nowMs: () => number) => ModelChf
  }
  const chf = modelChf(dir, Date.now)
  const sessions = new Map<string, string[]>()
  for (const imsi of imsis) sessions.set(imsi, [chf.create(imsi), chf.create(imsi)])
  const sums = new Map<string, Octets>()
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)]
  const report = (imsi: string, how: 'update' | 'partial' | 'release'): void => {
    const own = sessions.get(imsi) ?? []
    const session = pick(own)
    if (session === undefined) return
    const upBytes = Math.floor(Math.random() * MOST_OCTETS)
    const downBytes = Math.floor(Math.random() * MOST_OCTETS)
    chf[how](session, { ratingGroup: 1, upBytes, downBytes })
    const { up, down } = sums.get(imsi) ?? { up: 0, down: 0 }
    sums.set(imsi, { up: up + upBytes, down: down + downBytes })
    if (how === 'release') own.splice(own.indexOf(session), 1, chf.create(imsi))
  }
  const timer = setInterval(() => {
    const imsi = pick(imsis)
    if (imsi !== undefined)
      report(imsi, pick(['update', 'update', 'update', 'partial', 'release']) ?? 'update')
  }, REPORT_MS)
  return {
    stop: () => {
      clearInterval(timer)
      for (const imsi of imsis) report(imsi, 'update')
    },
    reported: (imsi) => sums.get(imsi) ?? { up: 0, down: 0 },
  }
}
