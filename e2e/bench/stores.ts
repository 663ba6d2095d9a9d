import { tempDir } from '@steeple/testkit'
import { createFleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import type { Service } from '../harness/service.ts'
import {
  type Bench,
  bench,
  cpuOf,
  type Finding,
  liftLimits,
  load,
  type Stage,
  started,
  told,
} from './bench.ts'
import { importSims, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const CLIENTS = 24
const SECONDS = 10
const ROWS = 50_000

/** A store and the instances that serve it. */
interface Hub {
  readonly name: string
  readonly instances: readonly Service[]
}

async function onPostgres(stage: Stage, names: readonly string[]): Promise<Hub> {
  const schema = stage.use(await ownSchema())
  const dir = stage.use(await tempDir('steeple-bench-'))
  const fleet = stage.use(await createFleet({ dir: dir.path, store: () => schema.url, env: WITHOUT_HSS.env }))
  for (const name of names) await fleet.start(name)
  const name = names.length === 1 ? 'PostgreSQL' : `PostgreSQL, ${names.length} instances`
  return { name, instances: names.map((one) => fleet.of(one)) }
}

/** Answers a second of all instances together, and what one costs them, ms of a processor. */
async function together(
  { instances }: Hub,
  path: string,
  body?: object,
): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
  const connections = CLIENTS / instances.length
  const before = instances.map(cpuOf)
  const results = await Promise.all(
    instances.map(({ url, adminToken: token }) =>
      load({
        url: url + path,
        connections,
        seconds: SECONDS,
        token,
        ...(body === undefined ? {} : { body }),
      }),
    ),
  )
  const cpuMs = instances.reduce((sum, instance, at) => sum + cpuOf(instance) - (before[at] ?? 0), 0)
  const total = results.reduce((sum, result) => sum + result.total, 0)
  return { perSecond: results.reduce((sum, result) => sum + result.perSecond, 0), cpuMs: cpuMs / total }
}

async function lines(hub: Hub): Promise<readonly Finding[]> {
  const [first] = hub.instances
  if (first === undefined) return []
  await liftLimits(first)
  const importMs = await importSims(first, simsCsv(0, ROWS, ['iccid']), ROWS)
  const read = await together(hub, '/v1/sims?limit=1')
  const issued = await together(hub, '/v1/sims', {})
  const changed = await together(hub, '/v1/tokens', { name: 'bench', roles: ['viewer'] })
  return [
    told(`rows of an import, ${hub.name}`, (ROWS * 1_000) / importMs, '/s'),
    told(`lists of one SIM, ${hub.name}, ${CLIENTS} clients`, read.perSecond, '/s'),
    told(`CPU of one, ${hub.name}`, read.cpuMs, 'ms'),
    told(`issued SIMs, ${hub.name}, ${CLIENTS} clients`, issued.perSecond, '/s'),
    told(`CPU of one, ${hub.name}`, issued.cpuMs, 'ms'),
    told(`changes with audit and event, ${hub.name}, ${CLIENTS} clients`, changed.perSecond, '/s'),
    told(`CPU of one, ${hub.name}`, changed.cpuMs, 'ms'),
  ]
}

const HUBS: readonly ((stage: Stage) => Promise<Hub>)[] = [
  async (stage) => ({ name: 'SQLite', instances: [stage.use(await started(WITHOUT_HSS))] }),
  (stage) => onPostgres(stage, ['a']),
  (stage) => onPostgres(stage, ['a', 'b', 'c']),
]

/** The same work on SQLite, on PostgreSQL (`SVC_TEST_PG_URL`), and by three instances on one PostgreSQL. */
export const STORES: Bench = bench({
  name: 'stores',
  about: 'imports, reads, SIMs and changes a second on SQLite and on PostgreSQL with one and three instances',
  setup: () => (PG_URL === '' ? HUBS.slice(0, 1) : HUBS),
  act: async (hubs) => {
    const all: Finding[] = []
    for (const hub of hubs) {
      await using stage = new AsyncDisposableStack()
      all.push(...(await lines(await hub(stage))))
    }
    return all
  },
})
