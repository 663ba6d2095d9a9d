import type { Metrics, Reader } from '@steeple/contracts'
import { countByState, countUnsynced, SIM_STATES, type SimState } from './store/sim-store.ts'

/** `svc_sim_state{state}` and `svc_attach_total{plmn}`, kept without counting rows at each change. */
export interface SimCounters {
  /** SIMs in any state, revoked ones included. */
  readonly total: number
  /** How many are in each state. */
  states(): ReadonlyMap<SimState, number>
  /** Counts a move that is durable; `from` is undefined for a new SIM. */
  moved(from: SimState | undefined, to: SimState): void
  /** Counts one less: its row is gone, durably. */
  removed(state: SimState): void
  /** Counts one that was seen when the core was looked at. */
  attached(plmn: string): void
  /** Those that were counted one by one, ever; and whether the core tells of each now. */
  told(totals: ReadonlyMap<string, number>, isTelling: boolean): void
  /** How many phones are attached now; undefined while the core does not tell. */
  present(phones: number | undefined): void
  /** Counts anew: another instance may have changed rows. */
  recount(reader: Reader): Promise<void>
}

/** Registers the series; attaches of the network `home` count from nought on. */
export function simCounters(metrics: Metrics, home: string): SimCounters {
  const gauge = metrics.gauge('svc_sim_state', 'SIMs by state.', ['state'])
  const unsynced = metrics.gauge(
    'svc_sims_unsynced',
    'SIMs that the HSS does not hold as it should, by why: pending or failed.',
    ['status'],
  )
  const phones = metrics.gauge(
    'svc_sims_phones_attached',
    'Phones that are attached now; NaN while the core does not tell.',
  )
  const attaches = metrics.counter(
    'svc_attach_total',
    'Attaches in the core: each one where it tells of each (its log can be read), else as seen when it is looked at, where a phone that left and came back between two looks counts once.',
    ['plmn'],
  )
  attaches.inc({ plmn: home }, 0)
  const telling = metrics.gauge(
    'svc_sims_attaches_told',
    '1 while the core tells of each attach, 0 while they are counted as seen when it is looked at.',
  )
  const shown = new Map<string, number>()
  const counts = new Map<SimState, number>()
  // Moves that became durable while a recount was reading are in neither of its sides for sure: it starts again.
  let moves = 0
  const add = (state: SimState, by: number): void => {
    const next = (counts.get(state) ?? 0) + by
    counts.set(state, next)
    gauge.set(next, { state })
  }
  return {
    get total() {
      return [...counts.values()].reduce((sum, count) => sum + count, 0)
    },
    states: () => new Map(SIM_STATES.map((state) => [state, counts.get(state) ?? 0])),
    moved: (from, to) => {
      moves += 1
      if (from !== undefined) add(from, -1)
      add(to, 1)
    },
    removed: (state) => {
      moves += 1
      add(state, -1)
    },
    attached: (plmn) => attaches.inc({ plmn }),
    told: (totals, isTelling) => {
      telling.set(isTelling ? 1 : 0)
      for (const [plmn, total] of totals) {
        const more = total - (shown.get(plmn) ?? 0)
        // A total that is less is of a backup that was put back.
        if (more > 0) attaches.inc({ plmn }, more)
        if (more !== 0) shown.set(plmn, total)
      }
    },
    present: (count) => phones.set(count ?? Number.NaN),
    recount: async (reader) => {
      const { pending, failed } = await countUnsynced(reader)
      unsynced.set(pending, { status: 'pending' })
      unsynced.set(failed, { status: 'failed' })
      const movesBefore = moves
      const found = await countByState(reader)
      if (moves !== movesBefore) return
      for (const state of SIM_STATES) {
        counts.set(state, found.get(state) ?? 0)
        gauge.set(counts.get(state) ?? 0, { state })
      }
    },
  }
}
