import type { HssDriver, Imsi, Subscriber, SubscriberObserved } from '@steeple/contracts'
import { memoryHss, type Rows } from './memory-hss.ts'

/** A driver that is wrong in one thing. */
export type WrongHss = (rows: Rows) => HssDriver

/** The right driver with other calls. */
function wrong(change: (right: HssDriver, rows: Rows) => Partial<HssDriver>): WrongHss {
  return (rows) => {
    const right = memoryHss(rows)
    return { ...right, ...change(right, rows) }
  }
}

/** What is pushed is changed on its way, knowing what is held. */
function pushing(change: (next: Subscriber, held: Subscriber | undefined) => Subscriber): WrongHss {
  return wrong((right, rows) => ({
    upsert: (all, signal) =>
      right.upsert(
        all.map((next) => change(next, rows.get(next.imsi))),
        signal,
      ),
  }))
}

function withoutMsisdn({ msisdn: _, ...rest }: Subscriber): Subscriber {
  return rest
}

function put(rows: Rows, imsi: Imsi, change: Partial<Subscriber>): void {
  const row = rows.get(imsi)
  if (row !== undefined) rows.set(imsi, { ...row, ...change })
}

const ZEROS = (): Uint8Array => new Uint8Array(16)

const WRONG_PUSHES: Readonly<Record<string, WrongHss>> = {
  'ignores isBlocked': pushing((next) => ({ ...next, isBlocked: false })),
  'ignores isBlocked on insert': pushing((next, held) => ({
    ...next,
    isBlocked: held === undefined ? false : next.isBlocked,
  })),
  'unblocks on update': pushing((next, held) => ({
    ...next,
    isBlocked: held === undefined && next.isBlocked,
  })),
  'never blocks or unblocks on update': pushing((next, held) => ({
    ...next,
    isBlocked: held?.isBlocked ?? next.isBlocked,
  })),
  'writes a zero Ki': pushing((next) => ({ ...next, ki: ZEROS() })),
  'writes a zero OPc': pushing((next) => ({ ...next, opc: ZEROS() })),
  'swaps Ki and OPc': pushing((next) => ({ ...next, ki: next.opc, opc: next.ki })),
  'writes OP in the place of OPc': pushing((next) => ({
    ...next,
    opc: next.opc.map((octet, at) => octet ^ (next.ki[at] ?? 0)),
  })),
  'ignores other keys': pushing((next, held) => ({
    ...next,
    ki: held?.ki ?? next.ki,
    opc: held?.opc ?? next.opc,
  })),
  'ignores another Ki': pushing((next, held) => ({ ...next, ki: held?.ki ?? next.ki })),
  'ignores other APNs': pushing((next, held) => ({ ...next, apns: held?.apns ?? next.apns })),
  'adds APNs and takes none away': pushing((next, held) => ({
    ...next,
    apns: [...new Set([...(held?.apns ?? []), ...next.apns])],
  })),
  'keeps the first APN only': pushing((next) => ({ ...next, apns: next.apns.slice(0, 1) })),
  'ignores another AMBR': pushing((next, held) => ({ ...next, ambrBps: held?.ambrBps ?? next.ambrBps })),
  'swaps up and down': pushing((next) => ({
    ...next,
    ambrBps: { up: next.ambrBps.down, down: next.ambrBps.up },
  })),
  'ignores the MSISDN': pushing(withoutMsisdn),
  'ignores another MSISDN': pushing((next, held) => ({
    ...next,
    ...(held?.msisdn === undefined ? {} : { msisdn: held.msisdn }),
  })),
  'ignores an MSISDN on update': pushing((next, held) => (held === undefined ? next : withoutMsisdn(next))),
  'writes the SQN each time': wrong((right, rows) => ({
    upsert: async (all, signal) => {
      const result = await right.upsert(all, signal)
      for (const { imsi, sqn } of all) put(rows, imsi, { sqn })
      return result
    },
  })),
  'raises the SQN': wrong((right, rows) => ({
    upsert: async (all, signal) => {
      const before = new Map(all.map(({ imsi }) => [imsi, rows.get(imsi)?.sqn ?? 0n]))
      const result = await right.upsert(all, signal)
      for (const { imsi, sqn } of all) put(rows, imsi, { sqn: maxOf(sqn, before.get(imsi) ?? 0n) })
      return result
    },
  })),
  'begins at SQN 0': pushing((next) => ({ ...next, sqn: 0n })),
  'keeps the buffers of its caller': wrong((right, rows) => ({
    upsert: async (all, signal) => {
      const result = await right.upsert(all, signal)
      for (const { imsi, ki, opc } of all) put(rows, imsi, { ki, opc })
      return result
    },
  })),
  'zeroes the buffers of its caller': wrong((right) => ({
    upsert: async (all, signal) => {
      const result = await right.upsert(all, signal)
      for (const { ki } of all) ki.fill(0)
      return result
    },
  })),
  'writes the first of a batch only': wrong((right) => ({
    upsert: async (all, signal) => {
      await right.upsert(all.slice(0, 1), signal)
      return new Map(all.map(({ imsi }) => [imsi, undefined]))
    },
  })),
  'gives the result of the first only': wrong((right) => ({
    upsert: async (all, signal) => new Map([...(await right.upsert(all, signal))].slice(0, 1)),
  })),
  'inserts and never updates': wrong((right, rows) => ({
    upsert: async (all, signal) => {
      await right.upsert(
        all.filter(({ imsi }) => !rows.has(imsi)),
        signal,
      )
      return new Map(all.map(({ imsi }) => [imsi, undefined]))
    },
  })),
  'replaces everybody by whom it is given': wrong((right, rows) => ({
    upsert: async (all, signal) => {
      signal.throwIfAborted()
      const kept = new Map(all.map(({ imsi }) => [imsi, rows.get(imsi)]))
      rows.clear()
      for (const [imsi, row] of kept) if (row !== undefined) rows.set(imsi, row)
      return await right.upsert(all, signal)
    },
  })),
}

const WRONG_BLOCKS: Readonly<Record<string, WrongHss>> = {
  'accepts a block of the absent': wrong((right) => ({
    setBlocked: async (imsis, isBlocked, signal) => {
      await right.setBlocked(imsis, isBlocked, signal)
      return new Map(imsis.map((imsi) => [imsi, undefined]))
    },
  })),
  'fails all for one that is absent': wrong((right, rows) => ({
    setBlocked: async (imsis, isBlocked, signal) => {
      if (imsis.some((imsi) => !rows.has(imsi))) throw new Error('one of them is absent')
      return await right.setBlocked(imsis, isBlocked, signal)
    },
  })),
  'does not block': wrong((_, rows) => ({
    setBlocked: async (imsis, _isBlocked, signal) => {
      signal.throwIfAborted()
      return new Map(imsis.map((imsi) => [imsi, rows.has(imsi) ? undefined : new Error('absent')]))
    },
  })),
  'says blocked and writes nothing': wrong((right, rows) => {
    const told = new Map<Imsi, boolean>()
    return {
      setBlocked: async (imsis, isBlocked, signal) => {
        signal.throwIfAborted()
        for (const imsi of imsis) told.set(imsi, isBlocked)
        return new Map(imsis.map((imsi) => [imsi, rows.has(imsi) ? undefined : new Error('absent')]))
      },
      observe: async (imsis, signal) => {
        const seen = await right.observe(imsis, signal)
        return new Map(
          [...seen].map(([imsi, row]) => [imsi, { ...row, isBlocked: told.get(imsi) ?? row.isBlocked }]),
        )
      },
    }
  }),
  'never unblocks': wrong((right) => ({
    setBlocked: (imsis, _, signal) => right.setBlocked(imsis, true, signal),
  })),
  'blocks everybody': wrong((right, rows) => ({
    setBlocked: async (imsis, isBlocked, signal) => {
      const result = await right.setBlocked(imsis, isBlocked, signal)
      await right.setBlocked([...rows.keys()], isBlocked, signal)
      return result
    },
  })),
  'blocks by taking the keys away': wrong((right, rows) => ({
    setBlocked: async (imsis, isBlocked, signal) => {
      const result = await right.setBlocked(imsis, isBlocked, signal)
      if (isBlocked) for (const imsi of imsis) put(rows, imsi, { ki: ZEROS() })
      return result
    },
  })),
  'touches the SQN when it blocks': wrong((right, rows) => ({
    setBlocked: async (imsis, isBlocked, signal) => {
      const result = await right.setBlocked(imsis, isBlocked, signal)
      for (const imsi of imsis) put(rows, imsi, { sqn: (rows.get(imsi)?.sqn ?? 0n) + 1n })
      return result
    },
  })),
}

const WRONG_LOOKS: Readonly<Record<string, WrongHss>> = {
  'answers from what it has pushed': wrong((right, rows) => {
    const pushed = new Map<Imsi, SubscriberObserved>()
    return {
      upsert: async (all, signal) => {
        const result = await right.upsert(all, signal)
        for (const { ki: _ki, opc: _opc, sqn: _sqn, ...rest } of all) pushed.set(rest.imsi, rest)
        return result
      },
      setBlocked: async (imsis, isBlocked, signal) => {
        const result = await right.setBlocked(imsis, isBlocked, signal)
        for (const imsi of imsis) {
          const row = pushed.get(imsi)
          if (row !== undefined && rows.has(imsi)) pushed.set(imsi, { ...row, isBlocked })
        }
        return result
      },
      remove: async (imsis, signal) => {
        const result = await right.remove(imsis, signal)
        for (const imsi of imsis) pushed.delete(imsi)
        return result
      },
      observe: async (imsis, signal) => {
        signal.throwIfAborted()
        return new Map(imsis.flatMap((imsi) => [[imsi, pushed.get(imsi)] as const]).filter(isHeld))
      },
    }
  }),
  'observes everybody, asked for or not': wrong((right, rows) => ({
    observe: (_, signal) => right.observe([...rows.keys()], signal),
  })),
  'observes subscribers that are not there': wrong((right) => ({
    observe: async (imsis, signal) => {
      const seen = await right.observe(imsis, signal)
      const rest = { apns: ['internet'], ambrBps: { up: 1, down: 1 }, isBlocked: false }
      return new Map(imsis.map((imsi) => [imsi, seen.get(imsi) ?? { imsi, ...rest }]))
    },
  })),
  'observes keys': wrong((right, rows) => ({
    observe: async (imsis, signal) =>
      new Map(
        [...(await right.observe(imsis, signal))].map(([imsi]) => [
          imsi,
          { ...rows.get(imsi) } as Subscriber,
        ]),
      ),
  })),
  'writes when it looks': wrong((right, rows) => ({
    observe: async (imsis, signal) => {
      for (const imsi of imsis) put(rows, imsi, { sqn: (rows.get(imsi)?.sqn ?? 0n) + 1n })
      return await right.observe(imsis, signal)
    },
  })),
  'removes everybody': wrong((right, rows) => ({
    remove: async (imsis, signal) => {
      const result = await right.remove(imsis, signal)
      rows.clear()
      return result
    },
  })),
  'blocks whom it should remove': wrong((right) => {
    const gone = new Set<Imsi>()
    return {
      remove: async (imsis, signal) => {
        signal.throwIfAborted()
        for (const imsi of imsis) gone.add(imsi)
        await right.setBlocked(imsis, true, signal)
        return new Map(imsis.map((imsi) => [imsi, undefined]))
      },
      observe: (imsis, signal) =>
        right.observe(
          imsis.filter((imsi) => !gone.has(imsi)),
          signal,
        ),
    }
  }),
  'fails to remove the absent': wrong((right, rows) => ({
    remove: async (imsis, signal) => {
      const absent = imsis.filter((imsi) => !rows.has(imsi))
      const result = await right.remove(imsis, signal)
      return new Map([...result, ...absent.map((imsi) => [imsi, new Error('absent')] as const)])
    },
  })),
}

const WRONG_COMPARISONS: Readonly<Record<string, WrongHss>> = {
  'tells differences where there are none': wrong((right) => ({
    compare: async (all, signal) => {
      await right.observe([], signal)
      return new Map(all.map(({ imsi }) => [imsi, { fields: ['all'], isSqnLost: false }]))
    },
  })),
  'compares nothing': wrong((right) => ({
    compare: async (all, signal) => {
      const held = await right.observe(
        all.map(({ imsi }) => imsi),
        signal,
      )
      return new Map([...held.keys()].map((imsi) => [imsi, { fields: [], isSqnLost: false }]))
    },
  })),
  'names a difference by the key': wrong((right) => ({
    compare: async (all, signal) => {
      const seen = (await right.compare?.(all, signal)) ?? new Map()
      const [{ ki = new Uint8Array() } = {}] = all
      const name = Buffer.from(ki).toString('hex')
      return new Map(
        [...seen].map(([imsi, { fields }]) => [imsi, { fields: fields.map(() => name), isSqnLost: false }]),
      )
    },
  })),
  'mends what it compares': wrong((right) => ({
    compare: async (all, signal) => {
      await right.upsert(all, signal)
      return new Map(all.map(({ imsi }) => [imsi, { fields: [], isSqnLost: false }]))
    },
  })),
}

const WRONG_TAKE_OVERS: Readonly<Record<string, WrongHss>> = {
  'tells one APN of those that a subscriber has': wrong((right) => ({
    existing: async (imsis, signal) =>
      new Map(
        [...((await right.existing?.(imsis, signal)) ?? [])].map(([imsi, has]) => [
          imsi,
          { ...has, apns: has.apns.slice(0, 1) },
        ]),
      ),
  })),
  'counts nobody as one': wrong((right) => ({
    survey: async (signal) => ({
      addresses: [],
      subscribers: Math.max(1, (await right.survey?.(signal))?.subscribers ?? 0),
    }),
  })),
}

const deaf = new AbortController().signal
const DEAF: Readonly<Record<string, WrongHss>> = {
  'observes with an aborted signal': wrong((right) => ({ observe: (imsis) => right.observe(imsis, deaf) })),
  'pushes with an aborted signal': wrong((right) => ({ upsert: (all) => right.upsert(all, deaf) })),
  'blocks with an aborted signal': wrong((right) => ({
    setBlocked: (imsis, isBlocked) => right.setBlocked(imsis, isBlocked, deaf),
  })),
  'compares with an aborted signal': wrong((right) => ({
    compare: async (all) => (await right.compare?.(all, deaf)) ?? new Map(),
  })),
  'removes with an aborted signal': wrong((right) => ({ remove: (imsis) => right.remove(imsis, deaf) })),
}

/** By what is wrong with them. Each must fail the suite. */
export const WRONG_HSS: Readonly<Record<string, WrongHss>> = {
  ...WRONG_PUSHES,
  ...WRONG_BLOCKS,
  ...WRONG_LOOKS,
  ...WRONG_COMPARISONS,
  ...WRONG_TAKE_OVERS,
  ...DEAF,
}

function maxOf(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function isHeld(
  entry: readonly [Imsi, SubscriberObserved | undefined],
): entry is readonly [Imsi, SubscriberObserved] {
  return entry[1] !== undefined
}
