import { type Context, type Instance, msFromDuration, type Plugin } from '@steeple/contracts'
import { polling } from './polling.ts'

const DEFAULT_INTERVAL_MS = 15_000

/** Polls every collector that is installed, whoever made it, and has what they have seen counted. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const { enabled, interval } = context.settings.collector
    const intervalMs = msFromDuration(interval) ?? DEFAULT_INTERVAL_MS
    const polls = polling(context, intervalMs)
    if (!enabled) return { health: async () => [OFF] }
    const round = async (): Promise<void> => {
      await polls.round(context.retiring)
      context.healthChanged()
    }
    context.every(intervalMs, round, 'machine')
    return {
      // Its failures are in its health, and the start of the service waits for no source.
      start: async () => void round(),
      health: () => polls.health(),
      // The next copy must not ask from a position that is about to move.
      stop: () => polls.settled(),
    }
  },
}

const OFF = {
  name: 'polling',
  kind: 'collector',
  status: 'ok',
  detail: 'collector.enabled is false: no collector is polled',
} as const
