import {
  type Context,
  type Outcome,
  type RanDriver,
  type Reconciler,
  southboundUnavailable,
  txNotArmed,
} from '@steeple/contracts'
import { cellPlan, type RenderProblem, technologyProblem } from './render/cell-plan.ts'
import { programOf } from './render/radio-input.ts'
import { gainProblems } from './render/render-problems.ts'
import { ueCountOf } from './stream/radio-facts.ts'
import { requirePermit } from './supervisor/desired-radio.ts'
import { rehearsal } from './supervisor/radio-start.ts'
import type { RadioSnapshot } from './supervisor/radio-state.ts'
import type { Supervisor } from './supervisor/supervisor.ts'

/** The reconciler of the radio and its one key: this node's. */
export const RADIO_RESOURCE = 'radio'
export const RADIO_KEY = 'own'

/** What could put it on air is told at once; this is the net below. */
const RESYNC_MS = 60_000
/** A radio that is, or should be, on air is watched this closely: that it makes progress, and that the gate permits it. */
const WATCH_MS = 1_000
const STEP_BOUND_MS = 30_000
/** A growing back-off is no measure for a radio on air. */
const BACKOFF = { firstMs: 1_000, longestMs: 1_000 }

/**
 * Keeps the radio as the gate wants it, and shows what it has become. Without a configured one there is only what an earlier
 * run may have left.
 */
export function radioReconciler(
  supervisor: Pick<Supervisor, 'step' | 'sweep' | 'snapshot'>,
  isConfigured: boolean,
  show: (snapshot: RadioSnapshot) => void,
): Reconciler {
  return {
    resource: RADIO_RESOURCE,
    runs: 'machine',
    resyncMs: RESYNC_MS,
    timeoutMs: STEP_BOUND_MS,
    backoff: BACKOFF,
    keys: async () => [RADIO_KEY],
    reconcile: async (): Promise<Outcome> => {
      let outcome: Outcome = { state: 'converged' }
      try {
        if (isConfigured) outcome = await supervisor.step()
        else await supervisor.sweep()
      } finally {
        show(supervisor.snapshot())
      }
      const { desired, running } = supervisor.snapshot()
      const isWatched = isConfigured && (running !== undefined || desired?.isOn === true)
      return outcome.state === 'converged' && isWatched
        ? { state: 'pending', afterMs: WATCH_MS, reason: 'the radio is watched' }
        : outcome
    },
  }
}

/** The driver's service over its supervisor. */
export function ranDriver(
  context: Pick<Context, 'use' | 'settings'>,
  supervisor: Pick<Supervisor, 'snapshot' | 'step' | 'hold' | 'resume' | 'running' | 'directory'>,
  isConfigured: boolean,
): RanDriver {
  let stops = 0
  return {
    problems: (profile) => {
      if (!isConfigured) return []
      const { ran } = context.settings
      const { scs_khz } = ran
      const technology = technologyProblem(programOf(ran), profile)
      const plan = cellPlan(profile, scs_khz)
      const carrier = technology === undefined ? (Array.isArray(plan) ? plan : []) : [technology]
      const problems = [...carrier, ...gainProblems({ profile, ran })]
      return problems.map(({ message }: RenderProblem) => message)
    },
    rehearse: async (profile) =>
      isConfigured ? await rehearsal(context, profile, supervisor.directory) : undefined,
    fallback: () =>
      isConfigured
        ? { kind: 'off', detail: 'the radio is off: its samples come from this machine' }
        : undefined,
    observe: async (signal) => {
      signal.throwIfAborted()
      const { desired, facts, pid } = supervisor.snapshot()
      const technology = context.settings.ran.program === 'srsenb' ? 'lte' : 'nr'
      return {
        pid,
        isConnected: facts?.isConnected === true,
        isWanted: isConfigured && desired?.isOn === true,
        attachedUes: facts === undefined ? 0 : ueCountOf(facts),
        mode: isConfigured ? technology : 'none',
      }
    },
    start: async (profile, signal) => {
      signal.throwIfAborted()
      const before = stops
      await requirePermit(context, profile, 'radio')
      if (!isConfigured) throw southboundUnavailable('no radio is configured (ran.binary)')
      signal.throwIfAborted()
      if (stops !== before) throw txNotArmed('the radio stays off: it was stopped while it was to be started')
      supervisor.resume()
      await supervisor.step()
      if (supervisor.running !== undefined) return
      const { problem = 'it waits before the next start' } = supervisor.snapshot()
      throw southboundUnavailable(`the radio has not been started: ${problem}`)
    },
    stop: async (signal) => {
      signal.throwIfAborted()
      stops += 1
      await supervisor.hold()
    },
  }
}
