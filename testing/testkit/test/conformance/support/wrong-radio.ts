import { type RadioProfile, type RanDriver, validationFailed } from '@steeple/contracts'
import { aMoment, type MemoryRadio, memoryCellDriver, memoryRadioDriver } from './memory-radio.ts'

/** Drivers of a cell that runs by itself, each wrong in one thing. */
export const WRONG_CELLS: Readonly<Record<string, WrongRadio>> = {
  'takes a silent switch for off': (radio) => {
    const right = memoryCellDriver(radio)
    return {
      ...right,
      observe: async (signal) => {
        const seen = await right.observe(signal)
        return seen.power === 'unknown' ? { ...seen, power: 'off' } : seen
      },
    }
  },
  'has stopped when the order is out': (radio) => {
    const right = memoryCellDriver(radio)
    return {
      ...right,
      stop: async (signal) => {
        void right.stop(signal).catch(() => undefined)
        await aMoment(LATER_MS)
      },
    }
  },
  'says nothing of its power': (radio) => {
    const right = memoryCellDriver(radio)
    return {
      ...right,
      observe: async (signal) => {
        const { power: _, ...seen } = await right.observe(signal)
        return seen
      },
    }
  },
}

/** A driver that is wrong in one thing. */
export type WrongRadio = (radio: MemoryRadio) => RanDriver

function wrong(change: (right: RanDriver, radio: MemoryRadio) => Partial<RanDriver>): WrongRadio {
  return (radio) => {
    const right = memoryRadioDriver(radio)
    return { ...right, ...change(right, radio) }
  }
}

const deaf = new AbortController().signal
/** Within what the suite looks on for. */
const LATER_MS = 50

function endAll(radio: MemoryRadio): void {
  radio.running.clear()
}

const WRONG_STARTS: Readonly<Record<string, WrongRadio>> = {
  'starts with a closed gate': wrong((_, radio) => ({
    start: async (_profile, signal) => {
      signal.throwIfAborted()
      if (radio.running.size === 0) radio.launch()
    },
  })),
  'starts and then asks the gate': wrong((right, radio) => ({
    start: async (profile, signal) => {
      signal.throwIfAborted()
      if (!radio.isArmed) radio.launch()
      await right.start(profile, signal)
    },
  })),
  'starts later with a closed gate': wrong((right, radio) => ({
    start: async (profile, signal) => {
      if (!radio.isArmed) void aMoment(LATER_MS).then(radio.launch)
      await right.start(profile, signal)
    },
  })),
  'refuses in its own words': wrong((right, radio) => ({
    start: async (profile, signal) => {
      signal.throwIfAborted()
      if (!radio.isArmed) throw validationFailed('not now')
      await right.start(profile, signal)
    },
  })),
  'asks the gate the first time only': wrong((right, radio) => {
    let wasOpen = false
    return {
      start: async (profile, signal) => {
        signal.throwIfAborted()
        if (wasOpen && radio.running.size === 0) radio.launch()
        else await right.start(profile, signal)
        wasOpen = true
      },
    }
  }),
  'starts nothing': wrong((_, radio) => ({
    start: async (_profile, signal) => {
      signal.throwIfAborted()
      if (!radio.isArmed) throw new Error('closed')
    },
  })),
  'starts two when it is started twice': wrong((right, radio) => ({
    start: async (profile, signal) => {
      const isOn = radio.running.size > 0
      await right.start(profile, signal)
      if (isOn) radio.launch()
    },
  })),
  'starts once in its life': wrong((right) => {
    let hasStarted = false
    return {
      start: async (profile, signal) => {
        signal.throwIfAborted()
        if (hasStarted) return
        await right.start(profile, signal)
        hasStarted = true
      },
    }
  }),
}

const WRONG_STOPS: Readonly<Record<string, WrongRadio>> = {
  'does not stop': wrong(() => ({ stop: async () => undefined })),
  'answers before it is off': wrong((right) => ({
    stop: async (signal) => void aMoment(LATER_MS).then(() => right.stop(signal)),
  })),
  'comes back after a stop': wrong((right, radio) => ({
    stop: async (signal) => {
      const wasOn = radio.running.size > 0
      await right.stop(signal)
      if (wasOn) void aMoment(LATER_MS).then(radio.launch)
    },
  })),
  'loses a stop that comes while it starts': wrong((right, radio) => {
    let starting: Promise<void> | undefined
    return {
      start: async (profile: RadioProfile, signal: AbortSignal) => {
        signal.throwIfAborted()
        starting = aMoment(LATER_MS).then(() => right.start(profile, signal))
        await starting
        starting = undefined
      },
      stop: async (signal) => {
        if (starting === undefined || radio.running.size > 0) await right.stop(signal)
      },
    }
  }),
  'takes the second of two stops for done': wrong((right) => {
    let isStopping = false
    return {
      stop: async (signal) => {
        if (isStopping) return
        isStopping = true
        await aMoment(LATER_MS)
        await right.stop(signal)
        isStopping = false
      },
    }
  }),
  'fails to stop what never ran': wrong((right, radio) => ({
    stop: async (signal) => {
      if (radio.running.size === 0) throw new Error('nothing runs')
      await right.stop(signal)
    },
  })),
  'leaves one behind': wrong((right, radio) => ({
    stop: async (signal) => {
      const wasOn = radio.running.size > 0
      await right.stop(signal)
      if (wasOn) radio.launch()
    },
  })),
}

const WRONG_LOOKS: Readonly<Record<string, WrongRadio>> = {
  'shows a process that is gone': wrong((right) => {
    let last: number | undefined
    return {
      observe: async (signal) => {
        const seen = await right.observe(signal)
        last = seen.pid ?? last
        return { ...seen, pid: last }
      },
    }
  }),
  'shows no process': wrong((right) => ({
    observe: async (signal) => ({ ...(await right.observe(signal)), pid: undefined }),
  })),
  'shows process 0': wrong((right) => ({
    observe: async (signal) => {
      const seen = await right.observe(signal)
      return { ...seen, pid: seen.pid === undefined ? undefined : 0 }
    },
  })),
  'is connected when nothing runs': wrong((right) => ({
    observe: async (signal) => ({ ...(await right.observe(signal)), isConnected: true }),
  })),
  'counts phones when nothing runs': wrong((right) => ({
    observe: async (signal) => ({ ...(await right.observe(signal)), attachedUes: 3 }),
  })),
  'ends the radio when it looks': wrong((right, radio) => ({
    observe: async (signal) => {
      const seen = await right.observe(signal)
      endAll(radio)
      return seen
    },
  })),
  'starts with an aborted signal': wrong((right) => ({ start: (profile) => right.start(profile, deaf) })),
  'starts later with an aborted signal': wrong((right, radio) => ({
    start: async (profile, signal) => {
      if (signal.aborted && radio.isArmed) void aMoment(LATER_MS).then(radio.launch)
      await right.start(profile, signal)
    },
  })),
  'observes with an aborted signal': wrong((right) => ({ observe: () => right.observe(deaf) })),
}

/** By what is wrong with them. Each must fail the suite. */
export const WRONG_RADIOS: Readonly<Record<string, WrongRadio>> = {
  ...WRONG_STARTS,
  ...WRONG_STOPS,
  ...WRONG_LOOKS,
}
