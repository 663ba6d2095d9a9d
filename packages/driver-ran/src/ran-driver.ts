import { type Context, type RanDriver, southboundUnavailable, txNotArmed } from '@steeple/contracts'
import { cellPlan, type RenderProblem, technologyProblem } from './render/cell-plan.ts'
import { ueCountOf } from './stream/radio-facts.ts'
import { desiredRadio } from './supervisor/desired-radio.ts'
import { isSameProfile } from './supervisor/same-profile.ts'
import type { Supervisor } from './supervisor/supervisor.ts'

/** The driver's service over its supervisor. */
export function ranDriver(
  context: Pick<Context, 'use' | 'settings'>,
  supervisor: Pick<Supervisor, 'snapshot' | 'step' | 'hold' | 'resume' | 'running'>,
  isConfigured: boolean,
): RanDriver {
  let stops = 0
  return {
    problems: (profile) => {
      if (!isConfigured) return []
      const { program, scs_khz } = context.settings.ran
      const technology = technologyProblem(program, profile)
      const plan = cellPlan(profile, scs_khz)
      const problems = technology === undefined ? (Array.isArray(plan) ? plan : []) : [technology]
      return problems.map(({ message }: RenderProblem) => message)
    },
    observe: async (signal) => {
      signal.throwIfAborted()
      const { facts, pid } = supervisor.snapshot()
      const technology = context.settings.ran.program === 'srsenb' ? 'lte' : 'nr'
      return {
        pid,
        isConnected: facts?.isConnected === true,
        attachedUes: facts === undefined ? 0 : ueCountOf(facts),
        mode: isConfigured ? technology : 'none',
      }
    },
    start: async (profile, signal) => {
      signal.throwIfAborted()
      const before = stops
      const desired = await desiredRadio(context)
      if (!desired.isOn) throw txNotArmed(`the radio may not go on air: ${desired.reason}`)
      if (!isSameProfile(desired.profile, profile)) {
        throw txNotArmed(`only the armed profile ${desired.profileId} may go on air`)
      }
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
