import type { CoreDesired, CoreDriver, CoreObserved, Rendered } from '@steeple/contracts'
import { type MemoryCore, memoryDriver, NOTHING_DONE, renderedOf, sha256Of } from './memory-core.ts'

/** A driver that is wrong in one thing. */
export type WrongCore = (core: MemoryCore) => CoreDriver

function wrong(change: (right: CoreDriver, core: MemoryCore) => Partial<CoreDriver>): WrongCore {
  return (core) => {
    const right = memoryDriver(core)
    return { ...right, ...change(right, core) }
  }
}

function observing(change: (seen: CoreObserved, core: MemoryCore) => Partial<CoreObserved>): WrongCore {
  return wrong((right, core) => ({
    observe: async (signal) => {
      const seen = await right.observe(signal)
      return { ...seen, ...change(seen, core) }
    },
  }))
}

function rendering(render: (desired: CoreDesired, call: number) => Rendered): WrongCore {
  return wrong(() => {
    let calls = 0
    return {
      render: async (desired) => {
        calls += 1
        return render(desired, calls)
      },
    }
  })
}

const deaf = new AbortController().signal

const WRONG_RENDERS: Readonly<Record<string, WrongCore>> = {
  'renders something else each time': rendering((desired, call) => {
    const { files } = renderedOf(desired)
    const text = `${files.get('core.json')}#${call}`
    return { files: new Map([['core.json', text]]), sha256: sha256Of(text) }
  }),
  'hashes something else each time': rendering((desired, call) => ({
    ...renderedOf(desired),
    sha256: sha256Of(String(call)),
  })),
  'has one hash for all': rendering((desired) => ({ ...renderedOf(desired), sha256: sha256Of('') })),
  'renders the TAC alone': rendering(({ tac }) => renderedOf({ tac })),
  'leaves the MNC out': rendering(({ plmn, ...rest }) =>
    renderedOf({ ...rest, plmn: { mcc: plmn.mcc, mnc: '' } }),
  ),
  'leaves the MCC out': rendering(({ plmn, ...rest }) =>
    renderedOf({ ...rest, plmn: { mcc: '', mnc: plmn.mnc } }),
  ),
  'leaves the TAC out': rendering(({ tac: _, ...rest }) => renderedOf(rest)),
  'leaves the APNs out': rendering(({ apns: _, ...rest }) => renderedOf(rest)),
  'renders the first APN only': rendering(({ apns, ...rest }) =>
    renderedOf({ ...rest, apns: apns.slice(0, 1) }),
  ),
  'renders absolute paths': rendering((desired) => {
    const { files, sha256 } = renderedOf(desired)
    return { files: new Map([['/etc/core.json', files.get('core.json') ?? '']]), sha256 }
  }),
  'renders no file': rendering((desired) => ({ ...renderedOf(desired), files: new Map() })),
  'hashes with something shorter': rendering((desired) => {
    const { files, sha256 } = renderedOf(desired)
    return { files, sha256: sha256.slice(0, 40) }
  }),
  'renders what it was asked for first': wrong(() => {
    let first: Rendered | undefined
    return {
      render: async (desired) => {
        first ??= renderedOf(desired)
        return first
      },
    }
  }),
}

const WRONG_APPLIES: Readonly<Record<string, WrongCore>> = {
  'says that it applied and writes nothing': wrong((right) => {
    let said: string | undefined
    return {
      apply: async ({ sha256 }, signal) => {
        signal.throwIfAborted()
        said = sha256
        return NOTHING_DONE
      },
      observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: said }),
    }
  }),
  'restarts at each apply': wrong((right, core) => ({
    apply: async (config, signal) => {
      const done = await right.apply(config, signal)
      core.restarts += 1
      return done
    },
  })),
  'leaves the refused files': wrong((right, core) => ({
    apply: async (config, signal) => {
      const isNew = core.files.get('core.json') !== config.files.get('core.json')
      if (core.isBroken && isNew) core.files = new Map(config.files)
      return await right.apply(config, signal)
    },
  })),
  'leaves the refused files and shows the hash before': wrong((right, core) => {
    let good: string | undefined
    return {
      apply: async (config, signal) => {
        signal.throwIfAborted()
        const isNew = core.files.get('core.json') !== config.files.get('core.json')
        if (!isNew) return NOTHING_DONE
        core.files = new Map(config.files)
        core.restarts += 1
        if (core.isBroken) throw new Error('refused')
        good = config.sha256
        return NOTHING_DONE
      },
      observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: good }),
    }
  }),
  'hides that the core refused': wrong((right) => ({
    apply: async (config, signal) => {
      signal.throwIfAborted()
      return await right.apply(config, deaf).catch(() => NOTHING_DONE)
    },
  })),
  'shows no hash': observing(() => ({ configSha256: undefined })),
  'shows the hash of what it was asked for last': wrong((right) => {
    let last: string | undefined
    return {
      apply: async (config, signal) => {
        last = config.sha256
        return await right.apply(config, signal)
      },
      observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: last }),
    }
  }),
}

const WRONG_PHONES: Readonly<Record<string, WrongCore>> = {
  'says that it kicked and kicks nobody': wrong((right, core) => ({
    kick: async (imsi, signal) => {
      await right.ues(signal)
      return core.attached.has(imsi) ? 'yes' : 'not_attached'
    },
  })),
  'calls everybody not attached': wrong(() => ({
    kick: async (_, signal) => {
      signal.throwIfAborted()
      return 'not_attached'
    },
  })),
  'calls everybody pending and kicks nobody': wrong((_, core) => ({
    kick: async (imsi, signal) => {
      signal.throwIfAborted()
      return core.attached.has(imsi) ? 'pending' : 'not_attached'
    },
  })),
  'says yes of whoever it is asked for': wrong((right) => ({
    kick: async (imsi, signal) => {
      await right.kick(imsi, signal)
      return 'yes'
    },
  })),
  'kicks everybody': wrong((right, core) => ({
    kick: async (imsi, signal) => {
      const said = await right.kick(imsi, signal)
      core.attached.clear()
      return said
    },
  })),
  'lists nobody': wrong(() => ({
    ues: async (signal) => {
      signal.throwIfAborted()
      return []
    },
  })),
  'lists the first phone only': wrong((right) => ({
    ues: async (signal) => (await right.ues(signal)).slice(0, 1),
  })),
  'lists who is not registered': wrong((right) => ({
    ues: async (signal) => (await right.ues(signal)).map((ue) => ({ ...ue, isRegistered: false })),
  })),
  'lists a silent core as empty': wrong((right, core) => ({
    ues: async (signal) => {
      signal.throwIfAborted()
      return core.isSilent ? [] : await right.ues(signal)
    },
  })),
  'counts nobody in a silent core': observing(({ attachedUes }) => ({ attachedUes: attachedUes ?? 0 })),
  'counts nobody ever': observing(() => ({ attachedUes: 0 })),
  'counts one too many': observing(({ attachedUes }) => ({ attachedUes: (attachedUes ?? 0) + 1 })),
  'counts half a phone': observing(() => ({ attachedUes: 0.5 })),
  'calls a phone of a silent core not attached': wrong((right, core) => ({
    kick: async (imsi, signal) => {
      signal.throwIfAborted()
      return core.isSilent ? 'not_attached' : await right.kick(imsi, signal)
    },
  })),
  'restarts when it looks': wrong((right, core) => ({
    observe: async (signal) => {
      core.restarts += 1
      return await right.observe(signal)
    },
  })),
}

const DEAF: Readonly<Record<string, WrongCore>> = {
  'observes with an aborted signal': wrong((right) => ({ observe: () => right.observe(deaf) })),
  'applies with an aborted signal': wrong((right) => ({ apply: (config) => right.apply(config, deaf) })),
  'kicks with an aborted signal': wrong((right) => ({ kick: (imsi) => right.kick(imsi, deaf) })),
  'lists with an aborted signal': wrong((right) => ({ ues: () => right.ues(deaf) })),
}

/** By what is wrong with them. Each must fail the suite. */
export const WRONG_CORES: Readonly<Record<string, WrongCore>> = {
  ...WRONG_RENDERS,
  ...WRONG_APPLIES,
  ...WRONG_PHONES,
  ...DEAF,
}
