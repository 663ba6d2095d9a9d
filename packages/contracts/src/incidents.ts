import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { CoreWork } from './service-shapes.ts'
import type { ComponentState } from './services.ts'

/**
 * What an operator calls an outage. More may come.
 *
 * `part`: a component that is not well, and is none of the others. Each of those is an incident of its own, as is each
 * `certificate_ending`, and all that ails another box is one; of the other kinds there is one at a time, however many components say it.
 */
export const INCIDENT_KINDS = [
  'cell_not_permitted',
  'cell_other_channel',
  'disk_full',
  'store_gone',
  'database_gone',
  'no_core',
  'other_network',
  'core_degraded',
  'no_radio_power',
  'radio_refused',
  'no_radio',
  'no_internet',
  'no_registration',
  'nobody_attached',
  'clock_wrong',
  'certificate_ending',
  'backup_overdue',
  'disk_low',
  'box_silent',
  'part',
] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

/** What an outage is called in English, wherever it is told of: answers, the command, alerts. */
export const INCIDENT_TITLES: Readonly<Record<IncidentKind, string>> = {
  cell_not_permitted: 'A cell transmits that is not permitted',
  cell_other_channel: 'The cell is set to another channel',
  disk_full: 'The disk is full',
  store_gone: 'The database of the box cannot be used',
  database_gone: 'The subscriber database is gone',
  no_core: 'No core',
  other_network: 'The core announces another network',
  core_degraded: 'The core does not work in full',
  no_radio_power: 'The radio device is gone',
  radio_refused: 'The radio is armed, but sends nothing',
  no_radio: 'No radio',
  no_internet: 'No internet',
  no_registration: 'Phones cannot register',
  nobody_attached: 'No phone has joined for a while',
  clock_wrong: 'The clock is wrong',
  certificate_ending: 'A certificate ends soon',
  backup_overdue: 'No recent backup',
  disk_low: 'The disk is almost full',
  box_silent: 'A box does not answer',
  part: 'A part is not well',
}

/** One outage: its cause, and what it means. */
export interface Incident {
  /** The same as long as it lasts: its kind, and the component where there may be several of the kind. */
  readonly id: string
  readonly kind: IncidentKind
  /** In English. */
  readonly title: string
  /** `critical`: something is down. `warning`: it works, but not well. */
  readonly severity: 'warning' | 'critical'
  /** The component that says it. */
  readonly cause: ComponentState
  /** Components that are not well because of it, by name. */
  readonly effects: readonly string[]
  /** What the other boxes are called that it is of, each once; absent for this one. */
  readonly boxes?: readonly string[]
  /** Ms since the epoch. */
  readonly sinceMs: number
  /** Phones that were on before and are off now; undefined where it keeps no phone off, or nobody knows. */
  readonly phonesOff: number | undefined
  /** The change of the core by this service that it followed on: its likely cause. */
  readonly change?: CoreWork | undefined
}

/** The outages of now, the gravest first. */
export interface IncidentBoard {
  current(): Promise<readonly Incident[]>
}
export const incidentBoardRef: ServiceRef<IncidentBoard> = serviceRef<IncidentBoard>('nodes.incidents', {
  current: 'function',
})

/** When certificates end that this service works with. */
export interface CertificateEnds {
  /** Ms since the epoch, by the name of each. */
  ends(): Promise<ReadonlyMap<string, number>>
}
export const certificateEndsRef: ServiceRef<CertificateEnds> = serviceRef<CertificateEnds>(
  'nodes.certificates',
  {
    ends: 'function',
  },
)
