import type { AnswerOf, Problem } from '@steeple/client'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { CHANGES, type Profile, type Ranges } from '../radio/spectrum.ts'
import { doneSteps, TEST_LABEL } from './progress.ts'
import { broughtIntoForce } from './use-settings.ts'

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
