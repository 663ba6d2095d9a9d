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
  /** Undefined while ES2+ is off. */
  health(): ComponentHealth | undefined
}

/** Makes it; registers its series. */
export function createEs2Service(parts: EsimParts): Es2Service {
  const { context } = parts
  const metrics = es2Metrics(context.metrics)
  const listener = es2Listener(parts, createEs2(parts, metrics))
  return {
    start: async () => {
      if (context.config.es2.notify_url !== '') {
        const post = postToOrderSystem(parts)
        context.every(TELL_MS, (signal) => tellProgress(parts, metrics, post, signal))
      }
      context.every(SWEEP_MS, () => sweepEs2(parts, metrics))
      await listener.start()
    },
    stop: () => listener.stop(),
    health: () => listener.health(),
  }
}
