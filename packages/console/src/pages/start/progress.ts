import type { AnswerOf } from '@steeple/client'
import type { Ranges } from '../radio/spectrum.ts'

/** What a new box needs until a phone is online, in order. */
export const STEPS = ['country', 'plmn', 'license', 'spectrum', 'air', 'apn', 'person', 'sim'] as const
export type StartStep = (typeof STEPS)[number]

/** What the service says of the box; undefined: nothing yet. */
export interface StartFacts {
  readonly gate?: Pick<AnswerOf<'GET', '/v1/tx/arm'>, 'gates' | 'transmitter'> | undefined
  readonly ranges?: Ranges | undefined
  /** What the core announces in place of the number of the box. */
  readonly otherNetworks?: readonly string[] | undefined
  readonly apns?: readonly string[] | undefined
  readonly people?: readonly unknown[] | undefined
  readonly sims?: readonly { readonly first_attach_at: string | null }[] | undefined
}

/** Which steps are done, by what the service says alone: nothing is remembered in the browser. */
export function doneSteps({
  gate,
  ranges,
  otherNetworks = [],
  apns = [],
  people = [],
  sims = [],
}: StartFacts): Readonly<Record<StartStep, boolean>> {
  return {
    country: gate?.gates.country_code === 'set',
    // A box always has a number: that of laboratories until somebody sets another.
    plmn: gate !== undefined && otherNetworks.length === 0,
    license: gate?.gates.license_ack === 'set',
    spectrum: ranges?.ranges.some(({ country }) => country === ranges.country) === true,
    air: gate?.transmitter === 'on',
    apn: apns.length > 0,
    person: people.length > 0,
    sim: sims.some((sim) => sim.first_attach_at !== null),
  }
}

/** The label by which the first SIM is found again. */
export const TEST_LABEL = 'test'
