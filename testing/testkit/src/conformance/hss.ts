import type { HssDriver, Imsi, Subscriber } from '@steeple/contracts'
import type { BodyOptions } from '../suite.ts'
import { runDriverChecks, type WorldFixture } from './common.ts'
import { HSS_CHECKS } from './hss-checks.ts'
import { allWell, DEAF, HSS_LOOK_MUTANTS, type HssMutant, imsisOf, type Needs } from './hss-look-mutants.ts'

/** A page of a usual API. */
const PAGE = 50
const THOUSAND = 1_000
const INT_31 = 2 ** 31 - 1
const MEGA = 1_000_000
const OUT_OF_LINE_MS = 50

const can =
  (what: 'fewer APNs' | 'MSISDN' | 'keys'): Needs =>
  ({ cannot }) =>
    cannot?.includes(what) !== true
const manyFit: Needs = ({ many }) => many === undefined || many > PAGE
/** Whether the fixture reads rates past the driver. */
const readsAmbr: Needs = async ({ driver, subscribers, stored }) => {
  const [one] = subscribers
  if (one === undefined) return false
  await driver.upsert([one], DEAF)
  return (await stored(one.imsi))?.ambrBps !== undefined
}

/** What is pushed is changed on its way, knowing what was pushed before. */
function pushing(
  what: string,
  change: (next: Subscriber, before: Subscriber | undefined) => Subscriber,
  needs?: Needs,
): HssMutant {
  return {
    what,
    ...(needs === undefined ? {} : { needs }),
    wrong: (right) => {
      const pushed = new Map<Imsi, Subscriber>()
      return {
        upsert: async (all, signal) => {
          const changed = all.map((next) => change(next, pushed.get(next.imsi)))
          for (const each of changed)
            pushed.set(each.imsi, { ...each, ki: each.ki.slice(), opc: each.opc.slice() })
          return await right.upsert(changed, signal)
        },
      }
    },
  }
}

const zeros = (): Uint8Array => new Uint8Array(16)
const wholeMegabits = (bps: number): number => Math.trunc(bps / MEGA) * MEGA

const PUSHES: readonly HssMutant[] = [
  pushing('swaps Ki and OPc', (next) => ({ ...next, ki: next.opc, opc: next.ki })),
  pushing('writes OP in the place of OPc', (next) => ({
    ...next,
    opc: next.opc.map((octet, at) => octet ^ (next.ki[at] ?? 0)),
  })),
  pushing('writes a zero Ki', (next) => ({ ...next, ki: zeros() })),
  pushing(
    'ignores other keys',
    (next, before) => ({ ...next, ki: before?.ki ?? next.ki, opc: before?.opc ?? next.opc }),
    can('keys'),
  ),
  pushing('swaps up and down', (next) => ({
    ...next,
    ambrBps: { up: next.ambrBps.down, down: next.ambrBps.up },
  })),
  pushing('keeps whole Mbit/s', (next) => ({
    ...next,
    ambrBps: { up: wholeMegabits(next.ambrBps.up), down: wholeMegabits(next.ambrBps.down) },
  })),
  pushing('cuts rates to 31 bits', (next) => ({
    ...next,
    ambrBps: { up: Math.min(next.ambrBps.up, INT_31), down: Math.min(next.ambrBps.down, INT_31) },
  })),
  {
    what: 'takes bit/s for kbit/s, both ways',
    needs: readsAmbr,
    wrong: (right) => ({
      upsert: (all, signal) =>
        right.upsert(
          all.map((next) => ({ ...next, ambrBps: times(next.ambrBps, THOUSAND) })),
          signal,
        ),
      observe: async (imsis, signal) =>
        new Map(
          [...(await right.observe(imsis, signal))].map(([imsi, seen]) => [
            imsi,
            { ...seen, ambrBps: times(seen.ambrBps, 1 / THOUSAND) },
          ]),
        ),
    }),
  },
  pushing('keeps the first APN only', (next) => ({ ...next, apns: next.apns.slice(0, 1) })),
  pushing('ignores other APNs', (next, before) => ({ ...next, apns: before?.apns ?? next.apns })),
  pushing(
    'adds APNs and takes none away',
    (next, before) => ({ ...next, apns: [...new Set([...(before?.apns ?? []), ...next.apns])] }),
    can('fewer APNs'),
  ),
  pushing('ignores the MSISDN', ({ msisdn: _, ...rest }) => rest, can('MSISDN')),
  pushing('unblocks on update', (next, before) => ({
    ...next,
    isBlocked: before === undefined && next.isBlocked,
  })),
  pushing('begins at SQN 0', (next) => ({ ...next, sqn: 0n })),
  pushing('keeps 32 bits of the SQN', (next) => ({ ...next, sqn: BigInt.asUintN(32, next.sqn) })),
  pushing('takes an IMSI for a number', (next) => ({ ...next, imsi: String(Number(next.imsi)) as Imsi })),
]

const BATCHES: readonly HssMutant[] = [
  {
    what: 'zeroes the buffers of its caller',
    wrong: (right) => ({
      upsert: async (all, signal) => {
        const result = await right.upsert(all, signal)
        for (const { ki } of all) ki.fill(0)
        return result
      },
    }),
  },
  {
    what: 'writes the first of a batch only',
    wrong: (right) => ({
      upsert: async (all, signal) => {
        await right.upsert(all.slice(0, 1), signal)
        return allWell(imsisOf(all))
      },
    }),
  },
  {
    what: 'gives the result of the first only',
    wrong: (right) => ({
      upsert: async (all, signal) => new Map([...(await right.upsert(all, signal))].slice(0, 1)),
    }),
  },
  {
    what: 'inserts and never updates',
    wrong: (right) => ({
      upsert: async (all, signal) => {
        const held = await right.observe(imsisOf(all), signal)
        await right.upsert(
          all.filter(({ imsi }) => !held.has(imsi)),
          signal,
        )
        return allWell(imsisOf(all))
      },
    }),
  },
  {
    what: 'pushes the first page of a batch',
    needs: manyFit,
    wrong: (right) => ({
      upsert: async (all, signal) => {
        await right.upsert(all.slice(0, PAGE), signal)
        return allWell(imsisOf(all))
      },
    }),
  },
  {
    what: 'observes the first page of whom it is asked for',
    needs: manyFit,
    wrong: (right) => ({ observe: (imsis, signal) => right.observe(imsis.slice(0, PAGE), signal) }),
  },
  {
    what: 'removes the first page of a batch',
    needs: manyFit,
    wrong: (right) => ({
      remove: async (imsis, signal) => {
        await right.remove(imsis.slice(0, PAGE), signal)
        return allWell(imsis)
      },
    }),
  },
  {
    what: 'loses a push while another is under way',
    wrong: (right) => {
      let underWay = 0
      return {
        upsert: async (all, signal) => {
          underWay += 1
          try {
            return underWay > 1 ? allWell(imsisOf(all)) : await right.upsert(all, signal)
          } finally {
            underWay -= 1
          }
        },
      }
    },
  },
  {
    what: 'says that it has pushed, and writes later',
    wrong: (right) => ({
      upsert: async (all, signal) => {
        signal.throwIfAborted()
        const copies = all.map((each) => ({ ...each, ki: each.ki.slice(), opc: each.opc.slice() }))
        setTimeout(() => void right.upsert(copies, DEAF).catch(() => undefined), OUT_OF_LINE_MS)
        return allWell(imsisOf(all))
      },
    }),
  },
]

/** Wrong drivers of an HSS. The suite fails each, whatever the right one is a driver of. */
export const HSS_MUTANTS: readonly HssMutant[] = [...PUSHES, ...BATCHES, ...HSS_LOOK_MUTANTS]

function times({ up, down }: Subscriber['ambrBps'], by: number): Subscriber['ambrBps'] {
  return { up: up * by, down: down * by }
}

/** What the HSS itself holds of a subscriber, read past the driver. 16 octets each. */
export interface StoredKeys {
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  readonly sqn: bigint
  /** The rates that it gives, in bit/s, where the fixture can read them: a driver that errs in the unit shows it by nothing else. */
  readonly ambrBps?: { readonly up: number; readonly down: number }
}

/** An HSS driver around a simulated or real subscriber store that holds none of `subscribers`. */
export interface HssFixture extends WorldFixture {
  readonly driver: HssDriver
  /**
   * At least two, unblocked, without MSISDN, with different IMSIs, keys (Ki and OPc too), APNs in common and a SQN
   * above 0. Fresh buffers.
   */
  readonly subscribers: readonly Subscriber[]
  /** What the HSS holds, read past the driver; undefined when it has no such subscriber. */
  stored(imsi: Imsi): Promise<StoredKeys | undefined>
  /**
   * What the backend has no way to do, to be said in the driver's documents: take an APN away again (the push of that
   * subscriber fails then), write an MSISDN (it is observed as none), write other keys for somebody whom it holds.
   */
  readonly cannot?: readonly ('fewer APNs' | 'MSISDN' | 'keys')[]
  /** How many subscribers a batch is tried with; 60 when absent. Fewer where each costs the start of a program. */
  readonly many?: number
  /** From now on the HSS answers nothing; absent where that cannot be done: then nothing is known of it. */
  fallSilent?(): Promise<void>
  /** Empties the HSS past the driver, as a restored backup or a new disk does. */
  empty(): Promise<void>
}

/**
 * Registers the tests that every HSS driver passes. `make` gives a fresh fixture for each test. `options` are for drivers
 * that start a program for each step.
 */
export function hssDriverConformance(
  name: string,
  make: () => Promise<HssFixture>,
  options: BodyOptions = {},
): void {
  runDriverChecks(`${name}: HSS driver conformance`, HSS_CHECKS, HSS_MUTANTS, make, options)
}
