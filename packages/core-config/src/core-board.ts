import type { ComponentHealth, Context, CorePlan, Rendered } from '@steeple/contracts'

/** What is known of the core's configuration, for `GET /v1/health`. */
export interface CoreBoard {
  say(status: ComponentHealth['status'], words: string): void
  /** The set is in force; what the plan complains of besides is not lost. */
  inForce(set: Rendered, plan: CorePlan): void
  /** Nothing may be written: it is nobody's fault that nothing is. */
  compared(plan: CorePlan): void
  health(): readonly ComponentHealth[]
}

/** A board that was told nothing yet. */
export function coreBoard(context: Context): CoreBoard {
  let status: ComponentHealth['status'] = 'ok'
  let detail = 'its configuration was not looked at yet'
  const say: CoreBoard['say'] = (next, words) => {
    const isOther = next !== status
    status = next
    detail = words
    if (isOther) context.healthChanged()
  }
  return {
    say,
    inForce: (set, { dir, problems, originals = [] }) => {
      const where = dir === '' ? '' : ` in ${dir}`
      const kept =
        originals.length === 0
          ? ''
          : `; files that were there before are kept in ${originals.join(', ')} (svc core restore-original)`
      if (problems.length === 0) say('ok', `${counted(set.files.size, 'file')} in force${where}${kept}`)
      else say('degraded', `${problems.join('; ')}${kept}`)
    },
    compared: (plan) => say(...comparedWords(plan)),
    health: () => [
      {
        name: 'core',
        kind: 'core',
        status,
        detail,
        required: context.settings.southbound.driver === 'container',
      },
    ],
  }
}

function comparedWords(plan: CorePlan): readonly [ComponentHealth['status'], string] {
  const why = 'southbound.driver is none'
  if (plan.state === 'unconfigured')
    return ['ok', `${why} and no directory is configured: nothing is compared`]
  if (plan.state === 'unknown') return ['degraded', plan.problems.join('; ')]
  const where = plan.dir === '' ? '' : ` in ${plan.dir}`
  if (plan.state === 'in_sync') return ['ok', `${why}: the core's configuration${where} is as it should be`]
  const files = plan.files.filter(({ change }) => change !== 'same').length
  const daemons = plan.daemons.filter(({ action }) => action === 'restart').map(({ name }) => name)
  const restarts = daemons.length === 0 ? 'nothing restarts' : `${daemons.join(', ')} restart`
  const what =
    plan.files.length === 0
      ? 'the configuration would change'
      : `${counted(files, 'file')}${where} would change and ${restarts}`
  const held = plan.held ?? []
  const asked =
    held.length === 0 ? '' : `; ${counted(held.length, 'file')} of others would be asked for first`
  return ['degraded', `${why}: ${what}${asked}; see GET /v1/core/plan`]
}

/** `3 files`. */
function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
