import { type RanDriver, txNotArmed } from '@steeple/contracts'
import { ranDriverConformance } from '../../src/index.ts'

ranDriverConformance('a radio in memory', async () => {
  let isArmed = false
  let isRunning = false
  const driver: RanDriver = {
    observe: async (signal) => {
      signal.throwIfAborted()
      const mode = isRunning ? 'lte' : 'none'
      return { pid: isRunning ? process.pid : undefined, isConnected: isRunning, attachedUes: 0, mode }
    },
    start: async (_profile, signal) => {
      signal.throwIfAborted()
      if (!isArmed) throw txNotArmed('arm TX before the radio starts')
      isRunning = true
    },
    stop: async () => {
      isRunning = false
    },
  }
  return {
    driver,
    profile: { technology: 'lte', channel: 1_575, bandwidth_mhz: 10 },
    setArmed: async (armed) => {
      isArmed = armed
    },
    isOnAir: async () => isRunning,
    world: async () => String(isRunning),
    close: async () => undefined,
  }
})
