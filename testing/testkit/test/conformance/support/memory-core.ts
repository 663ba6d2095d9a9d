import { createHash } from 'node:crypto'
import {
  type CoreApplied,
  type CoreDesired,
  type CoreDriver,
  type Imsi,
  type Rendered,
  southboundUnavailable,
} from '@steeple/contracts'
import type { CoreFixture } from '../../../src/conformance/core.ts'

/** What an apply says that had nothing to do. */
export const NOTHING_DONE: CoreApplied = { changed: [], restarted: [] }

/** A core in memory, past its driver. */
export interface MemoryCore {
  files: ReadonlyMap<string, string>
  restarts: number
  isBroken: boolean
  isSilent: boolean
  readonly attached: Set<Imsi>
  /** Phones that it says to let go, and keeps. */
  readonly staying: Set<Imsi>
}

function renderedOf(desired: CoreDesired): Rendered {
  const text = JSON.stringify(desired)
  return { files: new Map([['core.json', text]]), sha256: sha256Of(text) }
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function memoryDriver(core: MemoryCore): CoreDriver {
  const answer = (signal: AbortSignal): void => {
    signal.throwIfAborted()
    if (core.isSilent) throw southboundUnavailable('the core does not answer')
  }
  return {
    render: async (desired) => renderedOf(desired),
    observe: async (signal) => {
      signal.throwIfAborted()
      const text = core.files.get('core.json')
      return {
        configSha256: text === undefined ? undefined : sha256Of(text),
        services: new Map([['mme', core.isSilent ? 'down' : 'up'] as const]),
        radios: core.isSilent ? undefined : 0,
        attachedUes: core.isSilent ? undefined : core.attached.size,
      }
    },
    apply: async ({ files }, signal) => {
      signal.throwIfAborted()
      if (core.files.get('core.json') === files.get('core.json')) return NOTHING_DONE
      if (core.isBroken) throw southboundUnavailable('the core refuses its configuration')
      core.files = new Map(files)
      core.restarts += 1
      return { changed: ['core.json'], restarted: ['mme'] }
    },
    kick: async (imsi, signal) => {
      answer(signal)
      if (!core.attached.has(imsi)) return 'not_attached'
      if (!core.staying.has(imsi)) core.attached.delete(imsi)
      return core.attached.has(imsi) ? 'pending' : 'yes'
    },
    ues: async (signal) => {
      answer(signal)
      return [...core.attached].map((imsi) => ({ imsi, isRegistered: true, apns: ['internet'] }))
    },
  }
}

/** A fixture around a driver of that core; `make` may give a wrong one. */
export async function memoryCoreFixture(
  make: (core: MemoryCore) => CoreDriver = memoryDriver,
): Promise<CoreFixture> {
  const core: MemoryCore = {
    files: new Map(),
    restarts: 0,
    isBroken: false,
    isSilent: false,
    attached: new Set(),
    staying: new Set(),
  }
  const desired = {
    plmn: { mcc: '999', mnc: '99' },
    tac: 7,
    apns: ['internet'],
    maxUes: 8,
  }
  let last = 0
  return {
    driver: make(core),
    desired,
    otherDesired: { ...desired, tac: 8 },
    patienceMs: 100,
    // Test IMSIs of the test network 999-99.
    stranger: '999990000000099' as Imsi,
    phones: {
      many: 12,
      apns: ['internet'],
      stay: async (imsi) => {
        core.staying.add(imsi)
      },
      attach: async () => {
        last += 1
        const imsi = `99999000000000${last}` as Imsi
        core.attached.add(imsi)
        return imsi
      },
      isAttached: async (imsi) => core.attached.has(imsi),
      fallSilent: async () => {
        core.isSilent = true
      },
    },
    configFiles: async () => core.files,
    failNextApply: async () => {
      core.isBroken = true
    },
    world: async () => JSON.stringify([[...core.files], core.restarts, [...core.attached]]),
    close: async () => undefined,
  }
}
