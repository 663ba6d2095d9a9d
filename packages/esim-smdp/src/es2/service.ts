import type { ComponentHealth } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { createEs2 } from './es2.ts'
import { es2Listener } from './listener.ts'
import { es2Metrics } from './metrics.ts'
import { sweepEs2, tellProgress } from './notifier.ts'
import { postToOrderSystem } from './post.ts'

const TELL_MS = 2_000
const SWEEP_MS = 60_000

/** ES2+ of this plugin: its listener, and what tells the order system. */
export interface Es2Service {
  start(): Promise<void>
  stop(): Promise<void>
  /** Of the listener, and of telling how downloads go; of what is off nothing. */
  health(): readonly ComponentHealth[]
}

/** Makes it; registers its series. */
export function createEs2Service(parts: EsimParts): Es2Service {
  const { context } = parts
  const metrics = es2Metrics(context.metrics)
  let problem: string | undefined
  const listener = es2Listener(parts, createEs2(parts, metrics))
  return {
    start: async () => {
      if (context.config.es2.notify_url !== '') {
        const post = postToOrderSystem(parts)
        context.every(TELL_MS, async (signal) => {
          const outcome = await tellProgress(parts, metrics, post, signal)
          if (outcome !== undefined) problem = outcome === 'told' ? undefined : outcome.why
        })
      }
      context.every(SWEEP_MS, () => sweepEs2(parts, metrics))
      await listener.start()
    },
    stop: () => listener.stop(),
    health: () => [listener.health() ?? [], context.config.es2.notify_url === '' ? [] : told(problem)].flat(),
  }
}

function told(problem: string | undefined): ComponentHealth {
  const part = { name: 'es2.notify', kind: 'feature' } as const
  if (problem === undefined) return { ...part, status: 'ok', detail: 'nothing waits that could not be told' }
  return {
    ...part,
    status: 'degraded',
    detail: `esim.es2.notify_url does not take how downloads go: ${problem}`,
  }
}
