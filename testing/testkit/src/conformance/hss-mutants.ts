import type { Imsi, Subscriber } from '@steeple/contracts'
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
