import type { AnswerOf, Problem } from '@steeple/client'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { CHANGES, type Profile, type Ranges } from '../radio/spectrum.ts'
import { broughtIntoForce } from './use-settings.ts'

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

const LOOK_MS = 30_000

/** The SIM to try the network with, when there is one. */
export function useTestSims() {
  return useQuery('/v1/sims', { query: { label: TEST_LABEL, limit: 1 } }, { on: ['sim.*'], everyMs: LOOK_MS })
}

export function useProgress(): {
  readonly done: ReturnType<typeof doneSteps>
  /** Whether all of it was read. */
  readonly isKnown: boolean
  readonly ranges: Ranges | undefined
  /** What the core announces in place of the number of the box. */
  readonly otherNetworks: readonly string[]
  readonly profiles: readonly Profile[] | undefined
  /** Why the licence does not count: it has ended, or nobody has ticked that it was read. */
  readonly license: 'ended' | 'unread' | undefined
  readonly error: Problem | undefined
  readonly reload: () => void
} {
  const ranges = useQuery('/v1/spectrum/ranges', {}, CHANGES)
  const profiles = useQuery('/v1/tx/profiles', {}, CHANGES)
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const people = useQuery('/v1/users', { query: { limit: 1 } }, { on: ['user.*'] })
  const sims = useTestSims()
  const inUse = useQuery(
    '/v1/sims',
    { query: { state: 'in-use', limit: 1 } },
    { on: ['sim.*'], everyMs: LOOK_MS },
  )
  const gate = useQuery('/v1/tx/arm', {}, CHANGES)
  const status = useQuery('/v1/status', {}, { on: ['core.*', 'health.*', 'settings.*'], everyMs: LOOK_MS })
  const isOther = status.data?.incidents.some(({ kind }) => kind === 'other_network') === true
  const otherNetworks = isOther ? (status.data?.enb.other_networks ?? []) : []
  const queries = [gate, ranges, profiles, policy, people, sims, inUse]
  const reload = (): void => {
    for (const query of [...queries, status]) query.reload()
  }
  useEffect(reload, [broughtIntoForce.value])
  return {
    done: doneSteps({
      gate: gate.data,
      ranges: ranges.data,
      otherNetworks,
      apns: policy.data?.apns,
      people: people.data?.users,
      sims: [...(sims.data?.sims ?? []), ...(inUse.data?.sims ?? [])],
    }),
    isKnown: queries.every(({ data }) => data !== undefined),
    ranges: ranges.data,
    otherNetworks,
    profiles: profiles.data?.profiles,
    license: licenseFault(policy.data?.spectrum.license),
    error: queries.find(({ error }) => error !== undefined)?.error,
    reload,
  }
}

function licenseFault(
  license: AnswerOf<'GET', '/v1/policy'>['spectrum']['license'] | undefined,
): 'ended' | 'unread' | undefined {
  if (license === undefined) return undefined
  if (!license.acknowledged) return 'unread'
  return license.expires_at !== null && Date.parse(license.expires_at) <= Date.now() ? 'ended' : undefined
}
