import { agentWatchRef, type ComponentState, type Context, healthBoardRef } from '@steeple/contracts'
import { type Finding, type Level, lookOf, type Rule, type Watch } from './rule.ts'

/** A component is down for so long before somebody is told: a restart takes as long. */
const DOWN: Rule = { name: 'component_down', severity: 'critical', forMs: 60_000, clearMs: 60_000 }
/** A heartbeat that is missing has been waited for already: three of its intervals. */
const STALE: Rule = { name: 'heartbeat_stale', severity: 'critical', forMs: 0, clearMs: 30_000 }

/** Components of this service and of agents that are down, and agents that do not show. */
export function componentWatch(context: Context): Watch {
  return {
    rules: [DOWN, STALE],
    looks: async () => {
      const agents = (await context.maybe(agentWatchRef)?.agents()) ?? []
      const own = context.use(healthBoardRef).components()
      const reported = agents
        .filter(({ isStale }) => !isStale)
        .flatMap(({ components }) => components.slice(1))
      return [
        // What is not listed any more has left with its plugin or its agent.
        lookOf(DOWN, new Map([...own, ...reported].map(downOf))),
        lookOf(
          STALE,
          new Map(
            agents.map(({ nodeId, name, isStale, silentMs }) => {
              const seconds = Math.round(silentMs / 1_000)
              const message = `no heartbeat of ${name === '' ? nodeId : name} for ${seconds} s`
              return [`node/${nodeId}`, findingOf(isStale ? 'bad' : 'good', message, seconds)]
            }),
          ),
        ),
      ]
    },
  }
}

/** A component that is degraded works: it is no reason to say that it is down, and none to say that it is well. */
function downOf({ name, status, detail }: ComponentState): readonly [string, Finding] {
  const level = { ok: 'good', degraded: 'between', down: 'bad' } as const
  return [name, findingOf(level[status], `${name} is down${detail === '' ? '' : `: ${detail}`}`)]
}

function findingOf(level: Level, message: string, value?: number): Finding {
  return { level, value, threshold: undefined, message }
}
