import {
  type Context,
  type ImsiHash,
  type MutationTx,
  quotaKeeperRef,
  type Subscribers,
  type SubscriberView,
  simNotFound,
} from '@steeple/contracts'

export interface MemorySim {
  state: 'in-use' | 'suspended'
  reason: 'operator' | 'quota' | undefined
  capBps: number | undefined
  quotaBytes: number | undefined
}

/** SIMs in memory, as `sims` keeps them, and what operators do to them. */
export interface MemorySims {
  readonly service: Subscribers
  readonly sims: Map<string, MemorySim>
  suspend(imsi: ImsiHash): void
  /** False: its quota keeps it off. */
  resume(context: Pick<Context, 'mutate' | 'maybe'>, imsi: ImsiHash, isOverride: boolean): Promise<boolean>
}

const NOT_ASKED = async (): Promise<never> => {
  throw new Error('nobody asks for this')
}

/** These SIMs, all in use. */
export function memorySims(imsis: readonly ImsiHash[]): MemorySims {
  const sims = new Map(
    imsis.map((imsi): [string, MemorySim] => [
      imsi,
      { state: 'in-use', reason: undefined, capBps: undefined, quotaBytes: undefined },
    ]),
  )
  const of = (imsi: string): MemorySim => {
    const sim = sims.get(imsi)
    if (sim === undefined) throw simNotFound(imsi)
    return sim
  }
  const viewOf = (imsi: ImsiHash): SubscriberView => ({
    imsi,
    state: of(imsi).state,
    suspendReason: of(imsi).reason,
    plmn: '999-99',
    profile: 'default',
    apns: ['internet'],
    quotaBytes: of(imsi).quotaBytes,
    capBps: of(imsi).capBps,
    rates: 'in_force',
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    firstAttachAtMs: undefined,
  })
  const service: Subscribers = {
    find: async (imsi) => (sims.has(imsi) ? viewOf(imsi) : undefined),
    labels: async () => new Map(),
    counts: NOT_ASKED,
    lastAttached: NOT_ASKED,
    suspend: NOT_ASKED,
    resume: NOT_ASKED,
    moves: NOT_ASKED,
    suspendIn: async (_tx, imsi) => {
      const sim = of(imsi)
      if (sim.state === 'in-use') Object.assign(sim, { state: 'suspended', reason: 'quota' })
      return viewOf(imsi)
    },
    resumeIn: async (_tx, imsi) => {
      const sim = of(imsi)
      if (sim.reason === 'quota') Object.assign(sim, { state: 'in-use', reason: undefined })
      return viewOf(imsi)
    },
    setQuotaIn: async (_tx, imsi, quotaBytes) => {
      of(imsi).quotaBytes = quotaBytes
      return viewOf(imsi)
    },
    capIn: async (_tx, imsi, capBps) => {
      of(imsi).capBps = capBps
      return viewOf(imsi)
    },
    withQuota: async (after, limit) =>
      [...sims]
        .flatMap(([imsi, { quotaBytes }]) =>
          quotaBytes === undefined ? [] : [{ imsi: imsi as ImsiHash, quotaBytes }],
        )
        .filter(({ imsi }) => imsi > after)
        .sort((a, b) => (a.imsi < b.imsi ? -1 : 1))
        .slice(0, limit),
  }
  return {
    service,
    sims,
    suspend: (imsi) => void Object.assign(of(imsi), { state: 'suspended', reason: 'operator' }),
    resume: async (context, imsi, isOverride) => {
      const sim = of(imsi)
      if (sim.state === 'in-use') return true
      let isKeptOff = false
      await context
        .mutate(
          { kind: 'user', id: 'o', name: 'o', roles: new Set() },
          'sim.resume',
          imsi,
          async (tx: MutationTx) => {
            isKeptOff = (await context.maybe(quotaKeeperRef)?.keepsOff(tx, imsi, isOverride)) === true
            if (isKeptOff && sim.reason === 'quota') throw new Error('kept off')
          },
        )
        .catch((error: Error) => {
          if (error.message !== 'kept off') throw error
        })
      if (isKeptOff && sim.reason === 'quota') return false
      Object.assign(sim, { state: 'in-use', reason: undefined })
      return true
    },
  }
}
