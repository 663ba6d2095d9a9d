import type { BatchResult, HssDriver, Imsi, Subscriber, SubscriberObserved } from '@steeple/contracts'
import type { HssFixture } from './hss.ts'
import type { Mutant } from './mutants.ts'

/** A driver of an HSS that is wrong in one thing. */
export type HssMutant = Mutant<HssDriver, HssFixture>
/** Whether a fixture can tell a mutant. */
export type Needs = NonNullable<HssMutant['needs']>

/** A signal that nobody aborts. */
export const DEAF: AbortSignal = new AbortController().signal

/** The result of a call that has worked for all. */
export function allWell(imsis: readonly Imsi[]): BatchResult {
  return new Map(imsis.map((imsi) => [imsi, undefined]))
}

/** Their identities. */
export function imsisOf(all: readonly Subscriber[]): readonly Imsi[] {
  return all.map(({ imsi }) => imsi)
}

const compares: Needs = ({ driver }) => driver.compare !== undefined
const fallsSilent: Needs = ({ fallSilent }) => fallSilent !== undefined

/** What is observed is changed on its way. */
function looking(what: string, change: (seen: SubscriberObserved) => SubscriberObserved): HssMutant {
  return {
    what,
    wrong: (right) => ({
      observe: async (imsis, signal) =>
        new Map([...(await right.observe(imsis, signal))].map(([imsi, seen]) => [imsi, change(seen)])),
    }),
  }
}

/** What it says of each whom the HSS holds, and of the absent. */
async function heldOnly(right: HssDriver, imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult> {
  const held = await right.observe(imsis, signal)
  return new Map(imsis.map((imsi) => [imsi, held.has(imsi) ? undefined : new Error('absent')]))
}

const BLOCKS: readonly HssMutant[] = [
  {
    what: 'says that it blocks, and does not',
    wrong: (right) => ({
      setBlocked: (imsis, _, signal) => heldOnly(right, imsis, signal),
    }),
  },
  {
    what: 'shows a block that it has not written',
    wrong: (right) => {
      const told = new Map<Imsi, boolean>()
      return {
        setBlocked: async (imsis, isBlocked, signal) => {
          const result = await heldOnly(right, imsis, signal)
          for (const imsi of imsis) told.set(imsi, isBlocked)
          return result
        },
        observe: async (imsis, signal) =>
          new Map(
            [...(await right.observe(imsis, signal))].map(([imsi, seen]) => [
              imsi,
              { ...seen, isBlocked: told.get(imsi) ?? seen.isBlocked },
            ]),
          ),
      }
    },
  },
  {
    what: 'blocks nobody when one is absent',
    wrong: (right) => ({
      setBlocked: async (imsis, isBlocked, signal) => {
        const held = await right.observe(imsis, signal)
        if (imsis.some((imsi) => !held.has(imsi))) throw new Error('one of them is absent')
        return await right.setBlocked(imsis, isBlocked, signal)
      },
    }),
  },
  {
    what: 'never unblocks',
    wrong: (right) => ({ setBlocked: (imsis, _, signal) => right.setBlocked(imsis, true, signal) }),
  },
  {
    what: 'accepts a block of the absent',
    wrong: (right) => ({
      setBlocked: async (imsis, isBlocked, signal) => {
        await right.setBlocked(imsis, isBlocked, signal)
        return allWell(imsis)
      },
    }),
  },
  {
    what: 'names the IMSI in an error',
    wrong: (right) => ({
      setBlocked: async (imsis, isBlocked, signal) =>
        new Map(
          [...(await right.setBlocked(imsis, isBlocked, signal))].map(([imsi, error]) => [
            imsi,
            error && new Error(`there is no ${imsi}`),
          ]),
        ),
    }),
  },
]

const LOOKS: readonly HssMutant[] = [
  looking('shows nobody as blocked', (seen) => ({ ...seen, isBlocked: false })),
  looking('shows a key', (seen) => Object.assign({ ...seen }, { ki: new Uint8Array(16) })),
  {
    what: 'shows subscribers that are not there',
    wrong: (right) => ({
      observe: async (imsis, signal) => {
        const seen = await right.observe(imsis, signal)
        const rest = { apns: ['internet'], ambrBps: { up: 1, down: 1 }, isBlocked: false }
        return new Map(imsis.map((imsi) => [imsi, seen.get(imsi) ?? { imsi, ...rest }]))
      },
    }),
  },
  {
    what: 'removes nobody, and shows nobody whom it should have removed',
    wrong: (right) => {
      const gone = new Set<Imsi>()
      return {
        remove: async (imsis, signal) => {
          signal.throwIfAborted()
          for (const imsi of imsis) gone.add(imsi)
          return allWell(imsis)
        },
        observe: (imsis, signal) =>
          right.observe(
            imsis.filter((imsi) => !gone.has(imsi)),
            signal,
          ),
      }
    },
  },
  {
    what: 'fails to remove the absent',
    wrong: (right) => ({
      remove: async (imsis, signal) => {
        const held = await right.observe(imsis, signal)
        const result = await right.remove(imsis, signal)
        return new Map(
          [...result.keys()].map((imsi) => [imsi, held.has(imsi) ? undefined : new Error('absent')]),
        )
      },
    }),
  },
  {
    what: 'answers from what it saw before',
    wrong: (right) => {
      const known = new Map<Imsi, SubscriberObserved>()
      return {
        observe: async (imsis, signal) => {
          for (const [imsi, seen] of await right.observe(imsis, signal))
            if (!known.has(imsi)) known.set(imsi, seen)
          return new Map(imsis.flatMap((imsi) => [...known].filter(([one]) => one === imsi)))
        },
      }
    },
  },
  {
    what: 'shows nobody of a silent HSS',
    needs: fallsSilent,
    wrong: (right) => ({
      observe: async (imsis, signal) => {
        signal.throwIfAborted()
        return await right.observe(imsis, DEAF).catch(() => new Map())
      },
    }),
  },
  {
    what: 'says that a silent HSS has taken a push',
    needs: fallsSilent,
    wrong: (right) => ({
      upsert: async (all, signal) => {
        signal.throwIfAborted()
        return await right.upsert(all, DEAF).catch(() => allWell(imsisOf(all)))
      },
    }),
  },
]

const COMPARISONS: readonly HssMutant[] = [
  {
    what: 'names a difference by the key',
    needs: compares,
    wrong: (right) => ({
      compare: async (all, signal) => {
        const key = Buffer.from(all[0]?.ki ?? []).toString('hex')
        const seen = (await right.compare?.(all, signal)) ?? new Map()
        return new Map(
          [...seen].map(([imsi, { fields, ...rest }]) => [imsi, { ...rest, fields: fields.map(() => key) }]),
        )
      },
    }),
  },
  {
    what: 'writes what it is to compare',
    needs: compares,
    wrong: (right) => ({
      compare: async (all, signal) => {
        await right.upsert(all, signal)
        return new Map(all.map(({ imsi }) => [imsi, { fields: [], isSqnLost: false }]))
      },
    }),
  },
]

const UNHEARING: readonly HssMutant[] = [
  {
    what: 'compares with an aborted signal',
    needs: compares,
    wrong: (right) => ({ compare: async (all) => (await right.compare?.(all, DEAF)) ?? new Map() }),
  },
  {
    what: 'observes with an aborted signal',
    wrong: (right) => ({ observe: (imsis) => right.observe(imsis, DEAF) }),
  },
  { what: 'pushes with an aborted signal', wrong: (right) => ({ upsert: (all) => right.upsert(all, DEAF) }) },
  {
    what: 'removes with an aborted signal',
    wrong: (right) => ({ remove: (imsis) => right.remove(imsis, DEAF) }),
  },
  {
    what: 'blocks with an aborted signal',
    wrong: (right) => ({ setBlocked: (imsis, isBlocked) => right.setBlocked(imsis, isBlocked, DEAF) }),
  },
]

/** Those that block, observe, compare or remove wrongly, or do not hear a signal. */
export const HSS_LOOK_MUTANTS: readonly HssMutant[] = [...BLOCKS, ...LOOKS, ...COMPARISONS, ...UNHEARING]
