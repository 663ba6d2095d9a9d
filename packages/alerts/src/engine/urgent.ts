import { countText, type Incident, incidentBoardRef } from '@steeple/contracts'
import type { AlertParts } from '../parts.ts'
import { type AlertRow, MOST_CHARACTERS, newAlertId, openAlerts, openKey } from '../store/alert-store.ts'
import { failureOf } from '../webhooks/deliver.ts'
import { messageOf, topicOf } from '../webhooks/message.ts'
import type { Message } from '../webhooks/sign.ts'
import type { Target } from '../webhooks/target.ts'

/** The component that says how the store of this box is. */
const STORE = 'store'
/** A store that is busy for a moment is no reason to wake anybody, ms. */
const FOR_MS = 10_000
/** How long a receiver that did not take a message is left alone, ms, and for how long it is tried. */
const AGAIN_MS = 30_000
const GIVE_UP_MS = 3_600_000

/** What is to be said of an outage, from memory alone. */
interface Told {
  /** As it is now, since it began. */
  incident: Incident
  readonly row: AlertRow
  readonly message: Message
  /** Receivers that are to have it, by name. */
  readonly left: Set<string>
  /** Those that have it: they are told of the end, too. */
  readonly took: Set<string>
  readonly begunMs: number
  nextMs: number
  /** The stored alert that says the end, by its open key; and the one that would, once it is stored. */
  takenBy?: string | undefined
  askedBy?: string | undefined
}

/** Messages that need no store. */
export interface UrgentMessages {
  /** Tells of what is grave while the store takes no writes, once, and of its end. */
  see(): Promise<void>
  /** Since when the outage is that an alert is about, where all receivers know of it. */
  sinceOf(row: AlertRow): number | undefined
  /** Whether this alert says the end of what they know: the first that asks does, of several about one outage. */
  claim(row: AlertRow): boolean
  /** The store has it now: what not all have taken is said from there, and the end by the alert that was told. */
  handOver(row: AlertRow): void
  /** The end was said by this alert: what comes of the same part is another outage. */
  letGo(row: AlertRow): void
}

/**
 * The second way of messages: a full disk, or a database that is gone, must not keep the box from saying so. Best effort: what was not sent when
 * the service ends is lost.
 */
export function urgentMessages(parts: AlertParts): UrgentMessages {
  const { context } = parts
  const told: Told[] = []
  const ends: Told[] = []
  let known: readonly Target[] = []

  const targets = async (): Promise<readonly Target[]> => {
    // One that was known counts while nobody can be asked.
    known = await parts.targets().catch(() => known)
    return known
  }

  const send = async (one: Told, all: readonly Target[]): Promise<void> => {
    const nowMs = context.clock.monotonicMs()
    if (one.left.size === 0 || nowMs < one.nextMs) return
    one.nextMs = nowMs + AGAIN_MS
    const isLate = nowMs - one.begunMs >= GIVE_UP_MS
    // One that was removed meanwhile gets nothing any more.
    const targets = all.filter(({ name }) => one.left.has(name))
    if (isLate || targets.length === 0) one.left.clear()
    await Promise.all(targets.map((target) => sendTo(parts, target, one)))
  }

  const beginNew = async (grave: readonly Incident[], all: readonly Target[]): Promise<void> => {
    const open = await openAlerts(context.db).catch(() => [])
    const nowMs = Math.floor(context.clock.nowMs())
    for (const incident of grave) {
      const isKnown =
        told.some((one) => isSame(one.incident, incident)) ||
        open.some((row) => row.state === 'firing' && isAbout(incident, row))
      if (!isKnown && nowMs - incident.sinceMs >= FOR_MS)
        told.push(toldOf(parts, incident, rowOf(incident, nowMs), all))
    }
  }

  const follow = (grave: readonly Incident[], all: readonly Target[]): void => {
    const nowMs = Math.floor(context.clock.nowMs())
    for (const one of [...told]) {
      const now = grave.find((incident) => isSame(one.incident, incident))
      if (now !== undefined) {
        one.incident = { ...now, sinceMs: Math.min(now.sinceMs, one.incident.sinceMs) }
        continue
      }
      told.splice(told.indexOf(one), 1)
      if (one.takenBy !== undefined) continue
      const row: AlertRow = { ...one.row, state: 'resolved', resolved_at_ms: nowMs, updated_at_ms: nowMs }
      const knowing = all.filter(({ name }) => one.took.has(name))
      ends.push(toldOf(parts, one.incident, row, knowing))
    }
  }

  const heardOf = (row: AlertRow): Told | undefined =>
    told.find((one) => isHeard(one) && isAbout(one.incident, row))

  return {
    see: async () => {
      // What was asked for and not stored is free again.
      for (const one of told) one.askedBy = undefined
      const incidents = (await context.maybe(incidentBoardRef)?.current()) ?? []
      const grave = incidents.filter(isGrave)
      const fresh = incidents.some(isOfStore) ? grave : []
      const all = await targets()
      if (fresh.length + told.length + ends.length === 0) return
      if (fresh.length > 0) await beginNew(fresh, all)
      follow(grave, all)
      await Promise.all([...told, ...ends].map((one) => send(one, all)))
      for (const one of ends.filter(({ left }) => left.size === 0)) ends.splice(ends.indexOf(one), 1)
      if (told.length + ends.length === 0) parts.unsent.clear()
    },
    sinceOf: (row) => heardOf(row)?.incident.sinceMs,
    claim: (row) => {
      const one = heardOf(row)
      if (one === undefined) return false
      one.askedBy ??= one.takenBy ?? row.open_key
      return one.askedBy === row.open_key
    },
    handOver: (row) => {
      const heard = heardOf(row)
      // One that is silenced says no end.
      if (heard !== undefined && row.is_told === 1) heard.takenBy ??= row.open_key
      const at = told.findIndex((one) => !isHeard(one) && isAbout(one.incident, row))
      if (at >= 0) told.splice(at, 1)
    },
    letGo: (row) => {
      const at = told.findIndex(({ takenBy }) => takenBy === row.open_key)
      if (at >= 0) told.splice(at, 1)
    },
  }
}

/** Whether all receivers have taken it. */
function isHeard({ left, took }: Told): boolean {
  return left.size === 0 && took.size > 0
}

/** A message for those who want it. */
function toldOf(parts: AlertParts, incident: Incident, row: AlertRow, all: readonly Target[]): Told {
  const type = row.state === 'resolved' ? 'alert.resolved' : 'alert.firing'
  const wanting = all.filter((target) => target.wants(type, row.severity))
  const begunMs = parts.context.clock.monotonicMs()
  return {
    ...{ incident, row, begunMs, nextMs: begunMs, took: new Set() },
    message: messageOf(parts, topicOf(parts, type, row, row.updated_at_ms)),
    left: new Set(wanting.map(({ name }) => name)),
  }
}

async function sendTo(parts: AlertParts, target: Target, { message, left, took }: Told): Promise<void> {
  const { name } = target
  const failed = await failureOf(parts, target, message, new AbortController().signal)
  parts.metrics.attempted(failed === undefined ? 'delivered' : 'failed')
  if (failed !== undefined) {
    parts.unsent.set(name, failed.why)
    return
  }
  left.delete(name)
  took.add(name)
  parts.unsent.delete(name)
}

function isOfStore({ cause, effects }: Incident): boolean {
  return cause.name === STORE || effects.includes(STORE)
}

/** A box that saves nothing needs somebody, whatever its store still answers. */
function isGrave(incident: Incident): boolean {
  return incident.severity === 'critical' || isOfStore(incident)
}

/** A store that is gone and then turns out to be on a full disk is one outage. */
function isSame(before: Incident, now: Incident): boolean {
  return (
    before.id === now.id || before.cause.name === now.cause.name || now.effects.includes(before.cause.name)
  )
}

/** Whether an alert is about the outage. */
function isAbout({ kind, cause, effects }: Incident, { rule, subject }: AlertRow): boolean {
  return (kind === 'disk_full' && rule === FULL.rule) || subject === cause.name || effects.includes(subject)
}

/** As the rules would have it. */
const FULL = { rule: 'disk_almost_full', subject: 'disk' }

function rowOf({ kind, title, cause, sinceMs, phonesOff }: Incident, nowMs: number): AlertRow {
  const { rule, subject } = kind === 'disk_full' ? FULL : { rule: 'component_down', subject: cause.name }
  const phones = phonesOff === undefined ? '' : `, ${countText(phonesOff, 'phone is', 'phones are')} off`
  return {
    ...{ rule, subject, severity: 'critical', state: 'firing', open_key: openKey(rule, subject) },
    id: newAlertId(),
    message: `${title}${phones}: ${cause.detail}`.slice(0, MOST_CHARACTERS),
    ...{ value: null, threshold: null, clear_since_ms: null, resolved_at_ms: null, is_told: 1 },
    ...{ started_at_ms: sinceMs, since_ms: sinceMs, fired_at_ms: nowMs, updated_at_ms: nowMs },
    ...{ acked_by: null, acked_at_ms: null },
  }
}
