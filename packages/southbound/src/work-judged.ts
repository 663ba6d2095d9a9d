import type { ComponentHealth, CoreObserved } from '@steeple/contracts'

/** Status and words of the component `work` of a core. */
export type WorkJudged = readonly [status: ComponentHealth['status'], detail: string]

/**
 * Whether the functions of a core do their work. One that lacks something is down for phones although its daemons answer: so it
 * is told to whoever listens to alerts. Who lacks the same is named together.
 */
export function workJudged({
  services,
  problems = new Map(),
}: Pick<CoreObserved, 'services' | 'problems'>): WorkJudged {
  const known = [...services].filter(([, state]) => state !== 'unknown')
  const down = known.filter(([, state]) => state === 'down').map(([daemon]) => daemon)
  // Of a core that is away as a whole `daemons` tells.
  if (down.length === known.length && known.length > 0) return ['degraded', 'none of its daemons answers']
  const byWords = Map.groupBy(problems.keys(), (daemon) => problems.get(daemon) ?? '')
  const lost = [
    ...down.map((daemon) => `${daemon}: it does not answer`),
    ...[...byWords].map(([words, daemons]) => `${daemons.join(', ')}: ${words}`),
  ]
  if (lost.length > 0) return ['down', lost.join('; ')]
  return ['ok', 'its functions have what they need of one another']
}
