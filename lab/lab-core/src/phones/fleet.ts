import type { LabClock } from '../clock.ts'
import type { Mme } from '../mme/mme.ts'
import type { Session, Sessions } from '../smf/sessions.ts'
import type { Journal } from '../store/journal.ts'
import { type LabCard, phoneName } from './cards.ts'
import { Phone, type PhoneTimers } from './phone.ts'
import { makeUsim, type SeqArray, type Usim } from './usim.ts'

/** A phone as it is kept over a restart. */
export interface StoredPhone extends LabCard {
  readonly imeisv: string
  readonly isOn: boolean
  readonly seqs: SeqArray
}

/** A phone of the fleet. `name` is the public identifier of its subscriber. */
export interface NamedPhone {
  readonly name: string
  readonly imsi: string
  readonly phone: Phone
}

/** All phones of the lab, by name. */
export interface Fleet {
  all(): readonly NamedPhone[]
  find(name: string): NamedPhone | undefined
  /** Puts cards into phones, a new one for each card that is in none. What is there already keeps its SQN. */
  insert(cards: readonly LabCard[]): Promise<readonly NamedPhone[]>
  /** Takes a phone away, detached. */
  remove(name: string): Promise<void>
  session(named: NamedPhone): Session | undefined
  /** Switches on those that were on when they were last seen. */
  start(): void
  /** Nothing moves any more; the power state that is kept stays. */
  close(): void
}

export interface FleetOptions {
  readonly journal: Journal<StoredPhone>
  readonly mme: Mme
  readonly sessions: Sessions
  readonly clock: LabClock
  readonly timers: PhoneTimers
  /** Told when a phone cannot be kept. */
  readonly failed: (error: unknown) => void
}

/** The first octets of the IMEISV in the recordings; the serial number is the phone's own. */
const IMEISV_PREFIX = '86650704'

/** The phones that the journal holds, all still off. */
export function makeFleet(options: FleetOptions): Fleet {
  const { journal, mme, sessions, clock, timers } = options
  const phones = new Map<string, NamedPhone & { readonly usim: Usim; card: LabCard }>()
  let isClosed = false

  const keep = async (name: string): Promise<void> => {
    const held = phones.get(name)
    if (held === undefined || isClosed) return
    const { card, phone, usim } = held
    await journal.put(name, { ...card, imeisv: phone.imeisv, isOn: phone.isOn, seqs: usim.seqs() })
  }
  const make = (name: string, card: LabCard, imeisv: string, seqs: SeqArray): NamedPhone => {
    const usim = makeUsim({ k: Buffer.from(card.ki, 'hex'), opc: Buffer.from(card.opc, 'hex') }, seqs)
    const { imsi } = card
    const changed = (): void => void keep(name).catch(options.failed)
    const phone = new Phone({ imsi, imeisv, usim, mme, clock, timers, changed })
    const named = { name, imsi, phone, usim, card }
    phones.set(name, named)
    return named
  }
  const place = (card: LabCard): NamedPhone => {
    const name = phoneName(card.imsi)
    const held = phones.get(name)
    if (held !== undefined && held.card.ki === card.ki && held.card.opc === card.opc) {
      // Taken out and put in again, a card that was refused is tried anew.
      if (held.phone.state === 'barred') held.phone.powerOff()
      return held
    }
    // Another card of the same subscriber: the old one goes out of the phone.
    held?.phone.powerOff()
    const serial = String(phones.size + 1).padStart(6, '0')
    return make(name, card, held?.phone.imeisv ?? `${IMEISV_PREFIX}${serial}01`, [])
  }

  for (const [name, stored] of journal.entries) make(name, stored, stored.imeisv, stored.seqs)
  return {
    all: () => [...phones.values()],
    find: (name) => phones.get(name),
    insert: async (cards) => {
      const placed = cards.map(place)
      await Promise.all(placed.map(({ name }) => keep(name)))
      return placed
    },
    remove: async (name) => {
      const held = phones.get(name)
      if (held === undefined) return
      phones.delete(name)
      held.phone.powerOff()
      await journal.put(name, undefined)
    },
    session: ({ imsi }) => sessions.of(imsi),
    start: () => {
      for (const [name, { isOn }] of journal.entries) if (isOn) phones.get(name)?.phone.powerOn()
    },
    close: () => {
      isClosed = true
      for (const { phone } of phones.values()) phone.powerOff()
    },
  }
}
