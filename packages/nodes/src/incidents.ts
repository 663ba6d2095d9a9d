import {
  type ComponentState,
  type Context,
  type CoreWork,
  countText,
  INCIDENT_KINDS,
  INCIDENT_TITLES,
  type Incident,
  type IncidentKind,
  type JsonSchema,
  objectSchema,
  recordSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { isAtWork, isSinceWork, withChange } from './planned-work.ts'

/** Of a core: `core_degraded` counts where a function is down. */
const NO_WAY_IN = ['no_core', 'other_network', 'core_degraded'] as const
const NO_CELL = ['no_radio', 'no_radio_power', 'radio_refused'] as const
/** What a kind follows from: while one of those lasts, it is an effect and no incident of its own. */
const CAUSES: Readonly<Partial<Record<IncidentKind, readonly IncidentKind[]>>> = {
  store_gone: ['disk_full'],
  database_gone: ['disk_full', 'no_core'],
  no_core: ['database_gone'],
  other_network: ['no_core'],
  core_degraded: ['database_gone', 'no_core'],
  no_radio: ['no_radio_power', 'radio_refused', ...NO_WAY_IN],
  no_registration: [...NO_WAY_IN, ...NO_CELL, 'database_gone'],
  nobody_attached: [...NO_WAY_IN, ...NO_CELL, 'database_gone', 'no_registration'],
  certificate_ending: ['clock_wrong'],
  backup_overdue: ['disk_full', 'store_gone'],
}
/** Kinds that keep phones off which were on. */
const KEEPS_OFF: ReadonlySet<IncidentKind> = new Set([
  ...(['no_core', ...NO_CELL, 'nobody_attached'] as const),
])
/** Kinds of which there may be several at a time. */
const EACH: ReadonlySet<IncidentKind> = new Set(['certificate_ending', 'part'])
/** What a component is called that does not say it itself. */
const BY_KIND: Readonly<Partial<Record<ComponentState['kind'], IncidentKind>>> = {
  core: 'no_core', // where it is down
  hss: 'database_gone',
  ran: 'no_radio',
  store: 'store_gone',
}
/** Features that say how what they ask of the core goes: not well while it is gone. */
const OF_CORE = /^(sims\.(provisioning|kicks)|sessions|fair-use\.quotas|core-config)(\.|$)/
/** It says of a cell that is not permitted what the cell's own component says. */
const TX_GATE = /^policy\.tx-gate$/
/** Who writes to the store sees that it is gone before it is looked at. */
const TOGETHER_MS = 10_000
/** `node/<id>`: the heartbeat of another box, and not what it reports of its parts. */
const HEARTBEAT = /^node\/[^/]+$/
/** Which box a component is of, where it is another one. */
const BOX = /^node\/[^/]+/

/** What an operator calls it that a component is not well. */
function kindOf({ incident, kind, name, status }: ComponentState): IncidentKind {
  if (incident !== undefined) return incident
  if (kind === 'peer') return HEARTBEAT.test(name) ? 'box_silent' : 'part'
  if (kind === 'core' && status !== 'down') return 'core_degraded'
  return BY_KIND[kind] ?? 'part'
}

/** The components that are one incident, the worst and then the oldest first. */
interface Group {
  readonly kind: IncidentKind
  readonly components: readonly ComponentState[]
}

function groupsOf(ill: readonly ComponentState[]): readonly Group[] {
  const groups = Map.groupBy(ill, (component) => {
    const kind = kindOf(component)
    // What ails another box is one incident here: its own console has each.
    return EACH.has(kind) ? `${kind} ${BOX.exec(component.name)?.[0] ?? component.name}` : kind
  })
  return [...groups.values()].map((components) => ({
    kind: kindOf(components[0] as ComponentState), // a group has one
    components: components.toSorted(
      (one, other) =>
        Number(isOwnRadio(other)) - Number(isOwnRadio(one)) ||
        Number(isDown(other)) - Number(isDown(one)) ||
        one.sinceMs - other.sinceMs ||
        one.name.localeCompare(other.name),
    ),
  }))
}

function isDown({ status }: ComponentState): boolean {
  return status === 'down'
}

/** It knows why it is off. A core only misses it. */
function isOwnRadio({ kind }: ComponentState): boolean {
  return kind === 'ran'
}

/** A part that reads from the core, or has it changed. */
function partFollows({ kind, name }: ComponentState, cause: IncidentKind): boolean {
  const isOfCore = OF_CORE.test(name)
  if (cause === 'database_gone') return isOfCore
  return (isOfCore || kind === 'collector') && ['no_core', 'core_degraded', 'disk_full'].includes(cause)
}

/** It came to be ill when the store did. */
function failsWithStore(part: ComponentState, { components }: Group): boolean {
  return components.some(({ kind, sinceMs }) => kind === 'store' && part.sinceMs > sinceMs - TOGETHER_MS)
}

/**
 * Whether a group is explained by another. A core that is down takes its subscriber database along; one that works in part lacks that
 * database. What is a `part` follows the core where it reads from it, and the store of this box where it failed with it.
 */
function follows(effect: Group, cause: Group): boolean {
  const first = effect.components[0]
  if (effect === cause || first === undefined) return false
  if (['cell_not_permitted', 'cell_other_channel'].includes(cause.kind)) return TX_GATE.test(first.name)
  if (effect.kind === 'part' && first.kind !== 'peer' && failsWithStore(first, cause)) return true
  if (cause.kind === 'core_degraded' && !cause.components.some(isDown)) return false
  if (effect.kind === 'part') return partFollows(first, cause.kind)
  if (effect.kind === 'core_degraded' && cause.kind === 'other_network')
    return !effect.components.some(isDown)
  const isCoreDown = [effect, cause].some(
    ({ kind, components }) => kind === 'no_core' && components.some(isDown),
  )
  if (effect.kind === 'database_gone' && cause.kind === 'no_core') return isCoreDown
  if (effect.kind === 'no_core' && cause.kind === 'database_gone') return !isCoreDown
  return CAUSES[effect.kind]?.includes(cause.kind) === true
}

/** What is not well, by what it all follows from. */
function rootsOf(components: readonly ComponentState[]): ReadonlyMap<Group, readonly Group[]> {
  // Of several causes the gravest kind counts, whatever order the components come in.
  const groups = groupsOf(components.filter(({ status }) => status !== 'ok')).toSorted(
    (one, other) => INCIDENT_KINDS.indexOf(one.kind) - INCIDENT_KINDS.indexOf(other.kind),
  )
  const rootOf = (group: Group): Group => {
    const cause = groups.find((other) => follows(group, other))
    return cause === undefined ? group : rootOf(cause)
  }
  return Map.groupBy(groups, rootOf)
}

/** The outages that these components show, each with all that follows from it, the gravest first. */
export function incidentsOf(
  components: readonly ComponentState[],
  phonesOff: number | undefined,
): readonly Incident[] {
  return [...rootsOf(components)]
    .map(([root, all]) => incidentOf(root, all, phonesOff))
    .toSorted(
      (one, other) =>
        Number(other.severity === 'critical') - Number(one.severity === 'critical') ||
        INCIDENT_KINDS.indexOf(one.kind) - INCIDENT_KINDS.indexOf(other.kind) ||
        one.sinceMs - other.sinceMs,
    )
}

function incidentOf(root: Group, all: readonly Group[], phonesOff: number | undefined): Incident {
  const { kind, components } = root
  const cause = components[0] as ComponentState // a group has one
  const members = all.flatMap((group) => group.components)
  const boxes = [...new Set(components.flatMap(({ box }) => box ?? []))]
  return {
    id: EACH.has(kind) ? `${kind}:${BOX.exec(cause.name)?.[0] ?? cause.name}` : kind,
    kind,
    title: titleOf(kind, cause, components.length),
    // A store that takes nothing says so as one that still answers.
    severity: kind === 'disk_full' || components.some(isDown) ? 'critical' : 'warning',
    cause,
    effects: members.filter((one) => one !== cause).map(({ name }) => name),
    ...(boxes.length > 0 && { boxes }),
    sinceMs: Math.min(...components.map(({ sinceMs }) => sinceMs)),
    phonesOff: keepsPhonesOff(components) && (phonesOff ?? 0) > 0 ? phonesOff : undefined,
  }
}

function titleOf(kind: IncidentKind, { box }: ComponentState, count: number): string {
  if (kind === 'box_silent' && count > 1) return `${count} boxes do not answer`
  return kind === 'part' && box !== undefined ? `The box ${box} is not well` : INCIDENT_TITLES[kind]
}

/** Looks so long before an incident: the core loses its phones before anybody sees that its radio is gone. */
const BEFORE_MS = 60_000

/** Remembers how many phones were on before an incident began. */
function phoneMemory(): (
  attached: number | undefined,
  isKeptOff: boolean,
  nowMs: number,
) => number | undefined {
  let seen: readonly { readonly atMs: number; readonly count: number }[] = []
  return (attached, isKeptOff, nowMs) => {
    if (!isKeptOff && attached !== undefined)
      seen = [...seen.filter(({ atMs }) => nowMs - atMs < BEFORE_MS), { atMs: nowMs, count: attached }]
    if (seen.length === 0) return undefined
    return Math.max(0, Math.max(...seen.map(({ count }) => count)) - (attached ?? 0))
  }
}

/** Whether one of these components is not well in a way that keeps phones off. */
function keepsPhonesOff(components: readonly ComponentState[]): boolean {
  return components.some((one) => one.status !== 'ok' && keepsOff(one))
}

/** A core that complains lets phones on. */
function keepsOff(one: ComponentState): boolean {
  const kind = kindOf(one)
  return KEEPS_OFF.has(kind) || (kind === 'core_degraded' && isDown(one))
}

/** What is not well as planned: a core that is being changed, and whatever has followed from that since. */
function plannedIn(
  all: readonly ComponentState[],
  nowMs: number,
  work: CoreWork | undefined,
): readonly ComponentState[] {
  return [...rootsOf(all)]
    .filter(([root]) => root.components.every((one) => isAtWork(one, nowMs, work)))
    .flatMap(([, groups]) => groups.flatMap(({ components }) => components))
    .filter((one) => isSinceWork(one, nowMs, work))
}

/** The outages that components show now, with the phones that they keep off. */
export type IncidentLook = (components: readonly ComponentState[]) => Promise<readonly Incident[]>

/** A look that remembers how many phones were on. */
export function incidentLook(
  clock: Context['clock'],
  attached: () => Promise<number | undefined>,
  lastWork: () => CoreWork | undefined = () => undefined,
): IncidentLook {
  const goneOf = phoneMemory()
  return async (all) => {
    const [now, work] = [await attached(), lastWork()]
    const hidden = new Set(plannedIn(all, clock.nowMs(), work))
    const components = all.filter((one) => !hidden.has(one))
    const phonesOff = goneOf(now, keepsPhonesOff(all), clock.monotonicMs())
    return incidentsOf(components, phonesOff).map((incident) => withChange(incident, work))
  }
}

/** What is said of a kind beside its title: what it means for phones, and what to do first. */
interface Words {
  readonly impact: string
  readonly advice: string
  /** The heading of its section in the runbook. */
  readonly section: string
}

const PHONES_STAY = 'Phones that are on stay on.'

/** English, for the command, alerts and scripts. The console has its own in each language. */
const WORDS: Readonly<Record<IncidentKind, Words>> = {
  cell_not_permitted: {
    impact: 'It may disturb others, and the licence does not cover it.',
    advice: 'Cut the power of the cell now, then find out who turned it on.',
    section: 'a-cell-that-is-not-permitted',
  },
  cell_other_channel: {
    impact: 'No phone has a network: the licence may not cover that channel, so TX was disarmed.',
    advice: 'Set the channel of the cell and that of its profile the same, then arm again.',
    section: 'a-cell-on-another-channel',
  },
  disk_full: {
    impact: `${PHONES_STAY} Changes are refused until there is space.`,
    advice: 'Free some space. Writing goes on by itself.',
    section: 'the-disk-is-full',
  },
  store_gone: {
    impact: `${PHONES_STAY} The box saves no change.`,
    advice:
      'Move the same file back, or restore a backup and restart the service, or start the database server.',
    section: 'the-database-of-the-box-cannot-be-used',
  },
  database_gone: {
    impact: `${PHONES_STAY} Changes of SIMs wait until it is back.`,
    advice: 'Start the database again, then look here.',
    section: 'the-subscriber-database-is-gone',
  },
  no_core: {
    impact: 'No phone can join the network.',
    advice: 'Start the core again: see which daemon is down.',
    section: 'no-core',
  },
  other_network: {
    impact: "Phones with this box's SIMs find no network. SIMs of the other number stay on.",
    advice: "Apply the core's settings, or set the network number to the one that the core announces.",
    section: 'the-core-announces-another-network',
  },
  core_degraded: {
    impact: `${PHONES_STAY} Others may not join, or have no data.`,
    advice: 'The cause says what is wrong with which part.',
    section: 'the-core-does-not-work-in-full',
  },
  no_radio_power: {
    impact: 'No phone has a network.',
    advice: 'Look at the power supply and the cable of the radio.',
    section: 'no-power-for-the-radio',
  },
  radio_refused: {
    impact: 'No phone has a network.',
    advice: 'The cause says what differs: correct the radio profile, or the radio.',
    section: 'the-radio-is-armed-but-sends-nothing',
  },
  no_radio: {
    impact: 'No phone has a network.',
    advice: 'Look at power, cable and program of the radio.',
    section: 'no-radio',
  },
  no_internet: {
    impact: 'Phones have a network, but no data from outside.',
    advice: 'Look at the modem or router that brings the internet.',
    section: 'no-internet',
  },
  no_registration: {
    impact: PHONES_STAY,
    advice: 'See why one of them is refused: svc sim why HASH.',
    section: 'phones-cannot-register',
  },
  nobody_attached: {
    impact: 'No phone uses the network.',
    advice: 'Switch a phone to flight mode and back. If it joins, all is well.',
    section: 'nobody-has-attached-for-a-while',
  },
  clock_wrong: {
    impact: `${PHONES_STAY} SIMs do not expire, and nothing old is removed.`,
    advice: 'Set the clock, or confirm it: svc clock confirm.',
    section: 'the-clock-is-wrong',
  },
  certificate_ending: {
    impact: PHONES_STAY,
    advice: 'Put a new certificate in place before it ends.',
    section: 'a-certificate-ends',
  },
  backup_overdue: {
    impact: PHONES_STAY,
    advice: 'Make a backup now: svc backup.',
    section: 'a-backup-is-overdue',
  },
  disk_low: {
    impact: `${PHONES_STAY} Nothing is refused yet.`,
    advice: 'Free some space before the disk is full.',
    section: 'the-disk-is-full',
  },
  box_silent: {
    impact: 'Its phones may still be on: a box needs no other one.',
    advice: 'Ask somebody there whether its light is on.',
    section: 'a-box-does-not-answer',
  },
  part: {
    impact: PHONES_STAY,
    advice: 'Run svc doctor: it says what to do.',
    section: 'when-nothing-helps',
  },
}

/** The page of the documentation that says what to do about a kind. */
export function runbookOf(kind: IncidentKind): string {
  return `/docs/how-to/on-duty#${WORDS[kind].section}`
}

/** Boxes, and effects, of one incident that answers name. */
const MOST_LISTED = 20

/** One incident as `GET /v1/health` and `GET /v1/status` show it. */
export const INCIDENT_SCHEMA: JsonSchema = objectSchema(
  {
    id: { type: 'string', description: 'The same as long as the incident lasts.' },
    kind: { type: 'string', description: `${INCIDENT_KINDS.join(', ')}; more may come.` },
    severity: { type: 'string', description: 'warning or critical.' },
    title: { type: 'string' },
    detail: { type: 'string', description: 'What the component says that is the cause.' },
    component: { type: 'string', description: 'The component that is the cause.' },
    box: {
      type: ['string', 'null'],
      description: 'What the box is called that it is of; null for this one, and for several.',
    },
    boxes: {
      ...recordSchema({
        count: { type: 'integer', minimum: 0 },
        names: { type: 'array', items: { type: 'string' }, description: `At most ${MOST_LISTED}.` },
      }),
      description: 'The other boxes that it is of. More than three that are not well are one row.',
    },
    effects: {
      type: 'array',
      items: { type: 'string' },
      description: `Components that are not well because of it, at most ${MOST_LISTED}.`,
    },
    impact: { type: 'string', description: 'What it means for phones.' },
    phones_off: {
      type: ['integer', 'null'],
      minimum: 0,
      description:
        'Phones that were on before and are off now; null where it keeps no phone off or nobody knows.',
    },
    advice: { type: 'string', description: 'What to do first.' },
    change: {
      ...recordSchema({
        files: { type: 'array', items: { type: 'string' } },
        restarted: { type: 'array', items: { type: 'string' }, description: 'Daemons.' },
        at: TIMESTAMP_SCHEMA,
      }),
      description:
        'What the box changed in the core right before it began: the likely cause. Absent: nothing.',
    },
    runbook: { type: 'string', description: 'The page of the documentation with all steps.' },
    since: TIMESTAMP_SCHEMA,
  },
  [
    ...['id', 'kind', 'severity', 'title', 'detail', 'component', 'box', 'boxes', 'effects', 'impact'],
    ...['phones_off', 'advice', 'runbook', 'since'],
  ],
)

/** Boxes that are not well have a row each, up to here. */
const MOST_ROWS = 3
/** Of boxes in one line. */
const MOST_NAMED = 5

/** Incidents as answers show them: many boxes that are not well are one. */
export function incidentRecords(incidents: readonly Incident[]): readonly object[] {
  const ofBoxes = incidents.filter(({ kind, boxes }) => kind === 'part' && boxes !== undefined)
  const [first] = ofBoxes
  if (first === undefined || ofBoxes.length <= MOST_ROWS) return incidents.map(incidentRecord)
  const sum: Incident = {
    ...first,
    id: 'part:boxes',
    title: `${ofBoxes.length} boxes are not well`,
    effects: ofBoxes.flatMap(({ cause, effects }, index) => [
      ...(index === 0 ? [] : [cause.name]),
      ...effects,
    ]),
    boxes: ofBoxes.flatMap(({ boxes = [] }) => boxes),
    sinceMs: Math.min(...ofBoxes.map(({ sinceMs }) => sinceMs)),
  }
  const rest = new Set(ofBoxes.slice(1))
  return incidents.filter((one) => !rest.has(one)).map((one) => incidentRecord(one === first ? sum : one))
}

function incidentRecord(incident: Incident): object {
  const { id, kind, title, severity, cause, effects, boxes = [], sinceMs, phonesOff, change } = incident
  const { impact, advice } = WORDS[kind]
  return {
    id,
    kind,
    severity,
    title,
    detail: boxes.length > 1 ? namesOf(boxes) : cause.detail,
    component: cause.name,
    box: boxes.length > 1 ? null : (cause.box ?? null),
    boxes: { count: boxes.length, names: boxes.slice(0, MOST_LISTED) },
    effects: effects.slice(0, MOST_LISTED),
    impact: phonesOff === undefined ? impact : `${countText(phonesOff, 'phone is', 'phones are')} off.`,
    phones_off: phonesOff ?? null,
    advice: change === undefined ? advice : `${changeWords(change)} ${advice}`,
    ...(change && {
      change: { files: change.files, restarted: change.daemons, at: timestampFromMs(change.sinceMs) },
    }),
    runbook: runbookOf(kind),
    since: timestampFromMs(sinceMs),
  }
}

/** What came before an outage, and what to do about it: a restart alone cannot be undone. */
function changeWords({ files, daemons }: CoreWork): string {
  return files.length === 0
    ? `It began after the box restarted ${daemons.join(', ')}.`
    : `It began after the box changed ${files.join(', ')}: undo that change first.`
}

function namesOf(boxes: readonly string[]): string {
  const more = boxes.length - MOST_NAMED
  const named = boxes.slice(0, more > 0 ? MOST_NAMED : boxes.length).join(', ')
  return more > 0 ? `${named} and ${more} more` : named
}
