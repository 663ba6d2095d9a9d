import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Context,
  INCIDENT_KINDS,
  type Incident,
  type IncidentKind,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  ok,
  type Route,
  recordSchema,
  replaceFile,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'

/** An outage, from when it began; `untilMs` once it is over. Times are ms since the epoch. */
export interface Outage {
  /** The incident's, as it was at its gravest. */
  readonly id: string
  readonly kind: IncidentKind
  readonly title: string
  readonly severity: Incident['severity']
  /** The component that was the cause. */
  readonly component: string
  /** What the box is called that it was of; undefined for this one. */
  readonly box: string | undefined
  /** Components that were not well because of it. */
  readonly effects: readonly string[]
  readonly sinceMs: number
  readonly untilMs: number | undefined
  /** The most phones that it kept off; undefined where it kept none off, or nobody knew. */
  readonly phonesOff: number | undefined
}

/** As many are kept: those of a year with one a day. */
const MOST = 400
/** What is back so soon was never over: a line that flaps is one outage. */
const BACK_MS = 20_000
/** A part that is ill no longer is no outage, nor a core that complains no longer: it starts, or is asked again. */
const PASSING_MS = 15_000
/** What follows from an outage is seen so long before it at most. */
const FIRST_MS = 30_000
/** And of what keeps phones off: the core that died is seen after its radios. */
const FIRST_OFF_MS = 120_000

/** What the file is called in the data directory. It is no table: it must outlast a store that cannot be used. */
export const OUTAGES_FILE = 'outages.json'

/** What has begun and what is over since the last look. */
interface Seen {
  readonly all: readonly Outage[]
  readonly begun: readonly Outage[]
  readonly over: readonly Outage[]
}

/** The outages after a look that found these incidents. Newest first. */
export function outagesAfter(before: readonly Outage[], incidents: readonly Incident[], nowMs: number): Seen {
  const begun: Outage[] = []
  const known = knownOf(before, incidents, nowMs)
  const current = incidents.map((incident) => {
    const row = known.get(incident)
    if (row !== undefined) return gravest(row, incident)
    const fresh = outageOf(incident)
    begun.push(fresh)
    return fresh
  })
  const taken = new Set(known.values())
  const over: Outage[] = []
  const past = before.flatMap((one) => {
    if (taken.has(one) || isFirstSign(one, incidents, nowMs)) return []
    if (one.untilMs !== undefined) return [one]
    // Nothing ends before it began: the clock may have been put right meanwhile.
    const ended = { ...one, untilMs: Math.max(nowMs, one.sinceMs) }
    const isPassing = one.kind === 'part' || (one.severity === 'warning' && one.kind === 'core_degraded')
    if (isPassing && ended.untilMs - one.sinceMs < PASSING_MS) return []
    over.push(ended)
    return [ended]
  })
  const all = [...current, ...past].toSorted((one, other) => other.sinceMs - one.sinceMs).slice(0, MOST)
  return { all, begun, over }
}

/** What was an outage already: by its kind first, then another kind of the same part, as a disk that fills up, then what followed from it. */
function knownOf(
  before: readonly Outage[],
  incidents: readonly Incident[],
  nowMs: number,
): ReadonlyMap<Incident, Outage> {
  const known = new Map<Incident, Outage>()
  const left = new Set(
    before.filter(({ untilMs }) => untilMs === undefined || Math.abs(nowMs - untilMs) < BACK_MS),
  )
  for (const isSame of SAME)
    for (const incident of incidents) {
      if (known.has(incident)) continue
      const row = [...left].find((one) => isSame(one, incident))
      if (row === undefined) continue
      known.set(incident, row)
      left.delete(row)
    }
  return known
}

const SAME: readonly ((row: Outage, incident: Incident) => boolean)[] = [
  ({ id }, incident) => id === incident.id,
  ({ component }, { cause }) => component === cause.name,
  ({ effects }, { cause }) => effects.includes(cause.name),
]

/** Whether it was only seen before its cause: who writes sees that the disk is full before it is looked at. */
function isFirstSign(one: Outage, incidents: readonly Incident[], nowMs: number): boolean {
  const { component, sinceMs, untilMs, phonesOff } = one
  if (untilMs !== undefined && Math.abs(nowMs - untilMs) >= BACK_MS) return false
  return incidents.some(
    (cause) =>
      cause.effects.includes(component) &&
      Math.abs(cause.sinceMs - sinceMs) < (phonesOff === undefined ? FIRST_MS : FIRST_OFF_MS),
  )
}

function outageOf({ id, kind, title, severity, cause, effects, sinceMs, phonesOff }: Incident): Outage {
  const { name: component, box } = cause
  return { id, kind, title, severity, component, box, effects, sinceMs, phonesOff, untilMs: undefined }
}

function gravest(known: Outage, incident: Incident): Outage {
  const now = outageOf(incident)
  const isGraver = INCIDENT_KINDS.indexOf(now.kind) < INCIDENT_KINDS.indexOf(known.kind)
  const phones = Math.max(known.phonesOff ?? 0, now.phonesOff ?? 0)
  return {
    ...(isGraver ? now : known),
    effects: [...new Set([...known.effects, ...now.effects])],
    severity: [known.severity, now.severity].includes('critical') ? 'critical' : 'warning',
    sinceMs: Math.min(known.sinceMs, now.sinceMs),
    phonesOff: phones === 0 ? undefined : phones,
    untilMs: undefined,
  }
}

/** What happened on this box. */
export interface OutageBook {
  /** Newest first, those that go on among them. */
  all(): readonly Outage[]
  /** Compares with what is wrong now, and keeps and tells what is another. */
  see(incidents: readonly Incident[]): Promise<void>
}

/** The book in the data directory. */
export function outageBook(context: Context): OutageBook {
  const file = join(context.settings.server.data_dir, OUTAGES_FILE)
  let all: readonly Outage[] | undefined
  let isKept = true
  const known = (): readonly Outage[] => {
    all ??= readBook(file, context)
    return all
  }
  return {
    all: known,
    see: async (incidents) => {
      const before = known()
      const { all: after, begun, over } = outagesAfter(before, incidents, Math.floor(context.clock.nowMs()))
      all = after
      if (JSON.stringify(after) !== JSON.stringify(before)) isKept = false
      if (!isKept) {
        // On a full disk it is kept once there is space.
        isKept = await replaceFile(file, JSON.stringify(after)).then(
          () => true,
          () => false,
        )
      }
      if (begun.length + over.length > 0) await tell(context, begun, over)
    },
  }
}

/** Pages look again when they hear of it; while the store takes no events they look by themselves. */
async function tell(context: Context, begun: readonly Outage[], over: readonly Outage[]): Promise<void> {
  await context
    .observe(async (tx) => {
      for (const { id, kind } of begun) tx.event({ type: 'incident.began', subject: id, data: { kind } })
      for (const { id, kind } of over) tx.event({ type: 'incident.over', subject: id, data: { kind } })
    })
    .catch(() => undefined)
}

function readBook(file: string, { log }: Context): readonly Outage[] {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (Array.isArray(read) && read.every(isOutage)) return read
    log.warn({ file }, 'the list of past outages is damaged; it begins anew')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn({ file, err: error }, 'the list of past outages cannot be read; it begins anew')
  }
  return []
}

function isOutage(value: unknown): value is Outage {
  const one = value as Partial<Outage> | null
  return (
    typeof one?.id === 'string' &&
    INCIDENT_KINDS.some((kind) => kind === one.kind) &&
    typeof one.component === 'string' &&
    Array.isArray(one.effects) &&
    typeof one.sinceMs === 'number'
  )
}

const TEXT: JsonSchema = { type: 'string' }
const OUTAGE_SCHEMA = recordSchema({
  id: { ...TEXT, description: 'Of the incident that GET /v1/health showed.' },
  kind: { ...TEXT, description: 'As in GET /v1/health; at its gravest.' },
  severity: { ...TEXT, description: 'warning or critical.' },
  title: TEXT,
  component: { ...TEXT, description: 'The component that was the cause.' },
  box: { type: ['string', 'null'], description: 'What the box is called that it was of; null for this one.' },
  phones_off: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'The most phones that it kept off; null where it kept none off or nobody knew.',
  },
  since: TIMESTAMP_SCHEMA,
  until: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Null while it goes on.' },
})

/** `GET /v1/incidents`. */
export function outageRoutes(book: OutageBook): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/incidents',
      role: 'viewer',
      summary: 'List the last outages of this box, newest first, including those that are over',
      description:
        'The last 400, each as one entry from its begin to its end. They are kept in the data directory, and outlast a ' +
        'store that cannot be used.',
      schema: {
        response: recordSchema({ incidents: { type: 'array', items: OUTAGE_SCHEMA } }),
      },
      conditional: true,
      handle: async () => ok({ incidents: book.all().map(outageRecord) }),
    }),
  ]
}

function outageRecord({ sinceMs, untilMs, phonesOff, box, effects: _, ...outage }: Outage): object {
  return {
    ...outage,
    box: box ?? null,
    phones_off: phonesOff ?? null,
    since: timestampFromMs(sinceMs),
    until: timestampOrNull(untilMs ?? null),
  }
}
