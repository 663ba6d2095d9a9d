import type { CoreApplied, CoreDesired, CoreDriver, CoreObserved, Rendered } from '@steeple/contracts'
import type { CoreFixture } from './core.ts'
import type { Mutant } from './mutants.ts'

type CoreMutant = Mutant<CoreDriver, CoreFixture>
type Needs = NonNullable<CoreMutant['needs']>

const DEAF: AbortSignal = new AbortController().signal
const DONE: CoreApplied = { changed: [], restarted: [] }

const hasPhones: Needs = ({ phones }) => !('none' in phones)
/** Whether the driver tells of a count at all. */
const tells =
  (what: 'attachedUes' | 'radios'): Needs =>
  async (fixture) =>
    (await hasPhones(fixture)) && (await fixture.driver.observe(DEAF))[what] !== undefined

function rendering(what: string, change: (desired: CoreDesired) => CoreDesired): CoreMutant {
  return { what, wrong: (right) => ({ render: (desired) => right.render(change(desired)) }) }
}

/** What was rendered is changed on its way; `call` counts from 1. */
function rendered(what: string, change: (right: Rendered, call: number) => Partial<Rendered>): CoreMutant {
  return {
    what,
    wrong: (right) => {
      let call = 0
      return {
        render: async (desired) => {
          const one = await right.render(desired)
          call += 1
          return { ...one, ...change(one, call) }
        },
      }
    },
  }
}

function observing(
  what: string,
  change: (seen: CoreObserved) => Partial<CoreObserved>,
  needs?: Needs,
): CoreMutant {
  return {
    what,
    ...(needs === undefined ? {} : { needs }),
    wrong: (right) => ({
      observe: async (signal) => {
        const seen = await right.observe(signal)
        return { ...seen, ...change(seen) }
      },
    }),
  }
}

function withPhones(what: string, wrong: CoreMutant['wrong']): CoreMutant {
  return { what, needs: hasPhones, wrong }
}

const RENDERS: readonly CoreMutant[] = [
  rendering('leaves the MCC out', (desired) => ({ ...desired, plmn: { ...desired.plmn, mcc: '001' } })),
  rendering('leaves the MNC out', (desired) => ({ ...desired, plmn: { ...desired.plmn, mnc: '01' } })),
  rendering('leaves the TAC out', (desired) => ({ ...desired, tac: 1 })),
  rendering('renders the first APN only', (desired) => ({ ...desired, apns: desired.apns.slice(0, 1) })),
  {
    what: 'renders what it was asked for first',
    wrong: (right) => {
      let first: ReturnType<CoreDriver['render']> | undefined
      return {
        render: (desired) => {
          first ??= right.render(desired)
          return first
        },
      }
    },
  },
  rendered('has one hash for all', () => ({ sha256: '0'.repeat(64) })),
  rendered('hashes something else each time', (_, call) => ({ sha256: String(call).padStart(64, '0') })),
  rendered('hashes with something shorter', ({ sha256 }) => ({ sha256: sha256.slice(0, 40) })),
  rendered('renders something else each time', ({ files }, call) => ({
    files: new Map([...files].map(([path, text]) => [path, `${text}#${call}`])),
  })),
  rendered('renders absolute paths', ({ files }) => ({
    files: new Map([...files].map(([path, text]) => [`/etc/${path}`, text])),
  })),
  rendered('renders no file', () => ({ files: new Map() })),
]

const APPLIES: readonly CoreMutant[] = [
  {
    what: 'says that it applied, and writes nothing',
    wrong: (right) => {
      let said: string | undefined
      return {
        apply: async ({ sha256, files }, signal) => {
          signal.throwIfAborted()
          const isNew = said !== sha256
          said = sha256
          return isNew ? { changed: [...files.keys()], restarted: [] } : DONE
        },
        observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: said }),
      }
    },
  },
  {
    what: 'hides that the core refused',
    wrong: (right) => ({
      apply: async (config, signal) => {
        signal.throwIfAborted()
        return await right.apply(config, DEAF).catch(() => DONE)
      },
    }),
  },
  {
    what: 'takes for applied what the core has refused before',
    wrong: (right) => {
      const tried = new Set<string>()
      return {
        apply: async (config, signal) => {
          if (tried.has(config.sha256)) return DONE
          return await right.apply(config, signal).catch((error: unknown) => {
            if (!signal.aborted) tried.add(config.sha256)
            throw error
          })
        },
      }
    },
  },
  {
    what: 'does not go back to what it had applied before',
    wrong: (right) => {
      const done = new Set<string>()
      return {
        apply: async (config, signal) => {
          signal.throwIfAborted()
          if (done.has(config.sha256)) return DONE
          const result = await right.apply(config, signal)
          done.add(config.sha256)
          return result
        },
      }
    },
  },
  {
    what: 'shows the hash of what it was asked for last',
    wrong: (right) => {
      let last: string | undefined
      return {
        apply: async (config, signal) => {
          last = config.sha256
          return await right.apply(config, signal)
        },
        observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: last }),
      }
    },
  },
  observing('shows no hash', () => ({ configSha256: undefined })),
  {
    what: 'says nothing of what it has written',
    wrong: (right) => ({
      apply: async (config, signal) => {
        await right.apply(config, signal)
        return DONE
      },
    }),
  },
  {
    what: 'says each time that it has written all',
    wrong: (right) => ({
      apply: async (config, signal) => ({
        ...(await right.apply(config, signal)),
        changed: [...config.files.keys()],
      }),
    }),
  },
]

const KICKS: readonly CoreMutant[] = [
  withPhones('says that it kicks, and kicks nobody', (right) => ({
    kick: async (imsi, signal) =>
      (await right.ues(signal)).some((ue) => ue.imsi === imsi && ue.isRegistered) ? 'yes' : 'not_attached',
  })),
  withPhones('calls everybody not attached', () => ({
    kick: async (_, signal) => {
      signal.throwIfAborted()
      return 'not_attached'
    },
  })),
  {
    what: 'says yes of whoever it is asked for',
    wrong: (right) => ({
      kick: async (imsi, signal) => {
        await right.kick(imsi, signal)
        return 'yes'
      },
    }),
  },
  {
    what: 'believes the core that a phone is gone',
    needs: ({ phones }) => !('none' in phones) && phones.stay !== undefined,
    wrong: (right) => ({
      kick: async (imsi, signal) => {
        const said = await right.kick(imsi, signal)
        return said === 'pending' ? 'yes' : said
      },
    }),
  },
  withPhones('kicks everybody', (right) => ({
    kick: async (imsi, signal) => {
      const said = await right.kick(imsi, signal)
      for (const ue of await right.ues(signal)) await right.kick(ue.imsi, signal)
      return said
    },
  })),
  withPhones('forgets a kick while another is under way', (right) => {
    let underWay = 0
    return {
      kick: async (imsi, signal) => {
        underWay += 1
        try {
          return underWay > 1 ? 'pending' : await right.kick(imsi, signal)
        } finally {
          underWay -= 1
        }
      },
    }
  }),
  withPhones('calls a phone of a silent core not attached', (right) => ({
    kick: async (imsi, signal) => {
      signal.throwIfAborted()
      return await right.ues(DEAF).then(
        () => right.kick(imsi, signal),
        () => 'not_attached' as const,
      )
    },
  })),
]

const LISTS: readonly CoreMutant[] = [
  withPhones('lists nobody', () => ({
    ues: async (signal) => {
      signal.throwIfAborted()
      return []
    },
  })),
  withPhones('lists the first two only', (right) => ({
    ues: async (signal) => (await right.ues(signal)).slice(0, 2),
  })),
  {
    what: 'lists no APNs',
    needs: ({ phones }) => !('none' in phones) && phones.apns.length > 0,
    wrong: (right) => ({
      ues: async (signal) => (await right.ues(signal)).map((ue) => ({ ...ue, apns: [] })),
    }),
  },
  withPhones('calls those whom it lists not registered', (right) => ({
    ues: async (signal) => (await right.ues(signal)).map((ue) => ({ ...ue, isRegistered: false })),
  })),
  withPhones('lists a silent core as empty', (right) => ({
    ues: async (signal) => {
      signal.throwIfAborted()
      return await right.ues(DEAF).catch(() => [])
    },
  })),
  observing('counts half a phone', () => ({ attachedUes: 0.5 })),
  observing('counts nobody ever', () => ({ attachedUes: 0 }), hasPhones),
  observing('counts one too many', ({ attachedUes = 0 }) => ({ attachedUes: attachedUes + 1 }), hasPhones),
  observing(
    'counts nobody in a silent core',
    ({ attachedUes }) => ({ attachedUes: attachedUes ?? 0 }),
    tells('attachedUes'),
  ),
  observing(
    'counts no base station in a silent core',
    ({ radios }) => ({ radios: radios ?? 0 }),
    tells('radios'),
  ),
]

const UNHEARING: readonly CoreMutant[] = [
  { what: 'observes with an aborted signal', wrong: (right) => ({ observe: () => right.observe(DEAF) }) },
  {
    what: 'applies with an aborted signal',
    wrong: (right) => ({ apply: (config) => right.apply(config, DEAF) }),
  },
  { what: 'kicks with an aborted signal', wrong: (right) => ({ kick: (imsi) => right.kick(imsi, DEAF) }) },
  { what: 'lists with an aborted signal', wrong: (right) => ({ ues: () => right.ues(DEAF) }) },
]

/** Wrong drivers of a core. The suite fails each, whatever the right one is a driver of. */
export const CORE_MUTANTS: readonly CoreMutant[] = [...RENDERS, ...APPLIES, ...KICKS, ...LISTS, ...UNHEARING]
