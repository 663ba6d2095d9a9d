import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitCpu } from '../harness/cluster/cpu-quota.ts'
import { createFleet, type Fleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { cpuMs, type Finding, load, median } from './measure.ts'

const NAMES = ['a', 'b', 'c'] as const
const ROUNDS = 3
const SECONDS = 4
const CONNECTIONS_EACH = 8
/** So little of a core for each that database and load generator have room beside three of them. */
const SHARE = 0.12
const LEAST_GROWTH = 1.6

/** GET of one record from 1, 2 and 3 instances on one PostgreSQL, each with the same small share of a core. */
export async function benchInstances(): Promise<readonly Finding[]> {
  if (PG_URL === '') {
    process.stderr.write('  needs SVC_TEST_PG_URL\n')
    return []
  }
  const dir = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  const schema = await ownSchema()
  const fleet = await createFleet({ dir, store: () => schema.url, env: { SVC_HSS_DRIVER: 'none' } })
  const quotas: { end(): void }[] = []
  try {
    for (const name of NAMES) {
      const { child } = await fleet.start(name)
      const quota = limitCpu(child.pid ?? 0, SHARE)
      if (quota !== undefined) quotas.push(quota)
    }
    const rounds: Rate[][] = []
    for (let round = 0; round < ROUNDS; round++)
      rounds.push([await rateOf(fleet, 1), await rateOf(fleet, 2), await rateOf(fleet, 3)])
    const of = (count: number, pick: (rate: Rate) => number): number =>
      median(rounds.map((round) => pick(round[count - 1] ?? { perSecond: 0, cpuUs: 0 })))
    const how = quotas.length === NAMES.length ? `each ${SHARE * 100} % of a core` : 'without quota'
    const one = of(1, ({ perSecond }) => perSecond)
    return [1, 2, 3].map((count): Finding => {
      const value = of(count, ({ perSecond }) => perSecond)
      return {
        name: `GET one record, ${count} instance(s), ${how}, ${Math.round(of(count, ({ cpuUs }) => cpuUs))} us of each`,
        value,
        unit: '/s',
        ...(count === 1 ? {} : { beside: { what: 'one instance', value: one } }),
        target: count === 3 ? `≥ ${LEAST_GROWTH} times one` : '',
        isMet: count !== 3 || value >= LEAST_GROWTH * one,
      }
    })
  } finally {
    await fleet.end()
    for (const quota of quotas) quota.end()
    await schema.drop()
    rmSync(dir, { recursive: true, force: true })
  }
}

interface Rate {
  readonly perSecond: number
  /** Processor time of the instances for one answer. */
  readonly cpuUs: number
}

async function rateOf(fleet: Fleet, count: number): Promise<Rate> {
  const services = NAMES.slice(0, count).map((name) => fleet.of(name))
  const pids = services.map(({ child }) => child.pid ?? 0)
  const nodes = await services[0]?.request('GET', '/v1/nodes')
  const path = `/v1/nodes/${nodes?.body.nodes[0].node_id}/enroll`
  const before = pids.map(cpuMs)
  const results = await Promise.all(
    services.map(({ url }) =>
      load({
        url: url + path,
        connections: CONNECTIONS_EACH,
        seconds: SECONDS,
        headers: { authorization: `Bearer ${fleet.token}` },
      }),
    ),
  )
  const usedMs = pids.map(cpuMs).reduce((sum, ms, i) => sum + ms - (before[i] ?? 0), 0)
  const answers = results.reduce((sum, { total }) => sum + total, 0)
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    cpuUs: (1_000 * usedMs) / Math.max(1, answers),
  }
}
