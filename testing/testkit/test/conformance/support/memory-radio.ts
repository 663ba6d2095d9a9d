import { type RanDriver, type RanObserved, txNotArmed } from '@steeple/contracts'
import type { RanFixture } from '../../../src/conformance/ran.ts'

/** A radio in memory, past its driver. */
export interface MemoryRadio {
  isArmed: boolean
  /** Process ids of what runs. */
  readonly running: Set<number>
  launch(): number
  /** Of one that runs by itself: its switch does not answer. */
  isSilent: boolean
}

/** A right driver of a cell that runs by itself. */
export function memoryCellDriver(radio: MemoryRadio): RanDriver {
  const process = memoryRadioDriver(radio)
  return {
    ...process,
    observe: async (signal) => ({
      ...(await process.observe(signal)),
      pid: undefined,
      power: powerOf(radio),
    }),
    stop: async (signal) => {
      // It is told off until it says that it is.
      while (radio.isSilent) {
        signal.throwIfAborted()
        await aMoment()
      }
      await process.stop(signal)
    },
  }
}

function powerOf({ isSilent, running }: MemoryRadio): 'on' | 'off' | 'unknown' {
  if (isSilent) return 'unknown'
  return running.size > 0 ? 'on' : 'off'
}

const OFF: RanObserved = { pid: undefined, isConnected: false, isWanted: false, attachedUes: 0, mode: 'none' }

/** A right driver of it. Starts and stops take a moment, as with processes. */
export function memoryRadioDriver(radio: MemoryRadio): RanDriver {
  let pid: number | undefined
  let stops = 0
  return {
    observe: async (signal) => {
      signal.throwIfAborted()
      if (pid === undefined || !radio.running.has(pid)) return OFF
      return { pid, isConnected: true, isWanted: true, attachedUes: 0, mode: 'lte' }
    },
    start: async (_profile, signal) => {
      signal.throwIfAborted()
      const before = stops
      await aMoment()
      if (!radio.isArmed) throw txNotArmed('arm TX before the radio starts')
      if (before !== stops || (pid !== undefined && radio.running.has(pid))) return
      pid = radio.launch()
    },
    stop: async () => {
      stops += 1
      await aMoment()
      if (pid !== undefined) radio.running.delete(pid)
    },
  }
}

/** A turn of the event loop. */
export function aMoment(ms = 0): Promise<void> {
  return new Promise((next) => setTimeout(next, ms))
}

/** The same of a cell that runs by itself. */
export async function memoryCellFixture(
  make: (radio: MemoryRadio) => RanDriver = memoryCellDriver,
): Promise<RanFixture> {
  let made: MemoryRadio | undefined
  const fixture = await memoryRadioFixture((radio) => {
    made = radio
    return make(radio)
  })
  return {
    ...fixture,
    silence: async (isSilent) => {
      if (made !== undefined) made.isSilent = isSilent
    },
  }
}

/** A fixture around a driver of that radio; `make` may give a wrong one. */
export async function memoryRadioFixture(
  make: (radio: MemoryRadio) => RanDriver = memoryRadioDriver,
): Promise<RanFixture> {
  let last = 100
  const radio: MemoryRadio = {
    isArmed: false,
    isSilent: false,
    running: new Set(),
    launch: () => {
      last += 1
      radio.running.add(last)
      return last
    },
  }
  return {
    driver: make(radio),
    profile: { technology: 'lte', channel: 1_575, bandwidth_mhz: 10 },
    setArmed: async (isArmed) => {
      radio.isArmed = isArmed
    },
    patienceMs: 100,
    radios: async () => radio.running.size,
    crash: async () => radio.running.clear(),
    world: async () => JSON.stringify([...radio.running]),
    close: async () => undefined,
  }
}
