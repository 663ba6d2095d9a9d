import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { objectSchema, route } from '@steeple/contracts'
import { type InlinePlugin, tempDir } from '@steeple/testkit'
import { makeBuild } from '../harness/builds/make-build.ts'
import { createFleet, type Fleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { done } from '../harness/service.ts'
import {
  AS_NPM_START,
  type Bench,
  bedOf,
  bench,
  cpuOf,
  type Finding,
  least,
  line,
  load,
  loadOn,
  median,
  most,
  mostTimes,
  program,
  quantile,
  started,
  times,
  told,
} from './bench.ts'

/** Control groups of version 1 and of version 2. */
const GROUPS = [
  { root: '/sys/fs/cgroup/cpu', file: 'cpu.cfs_quota_us', text: (us: number) => String(us) },
  { root: '/sys/fs/cgroup', file: 'cpu.max', text: (us: number) => `${us} 100000` },
] as const
const PERIOD_US = 100_000

/** Gives a process a share of one core and no more. Undefined where that is not possible: not root, no control groups. */
function limitCpu(pid: number, share: number): { end(): void } | undefined {
  for (const { root, file, text } of GROUPS) {
    const group = join(root, `svc-bench-${pid}`)
    try {
      mkdirSync(group)
      if (!existsSync(join(group, file))) throw new Error('no such controller')
      writeFileSync(join(group, file), text(Math.round(share * PERIOD_US)))
      writeFileSync(join(group, 'cgroup.procs'), String(pid))
      return { end: () => remove(group) }
    } catch {
      remove(group)
    }
  }
  return undefined
}

function remove(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // It was never made, or its process is still ending: an empty group costs nothing.
  }
}

/** After that long without a request the collector of garbage has had its turns. */
const REST_MS = 10_000

const start = bench({
  name: 'start',
  about: 'start to the first healthy answer over a store that is there, and resident memory when idle',
  setup: async (stage) => {
    const { path: dataDir } = stage.use(await tempDir('steeple-bench-'))
    await using _first = await started({ ...AS_NPM_START, dataDir })
    return dataDir
  },
  act: async (dataDir) => {
    const rounds = 7
    let resident = Number.NaN
    const starts = await times(rounds, async (round) => {
      await using service = await started({ ...AS_NPM_START, dataDir })
      if (round === rounds - 1) {
        await delay(REST_MS)
        resident = service.residentMiB()
      }
      return service.startMs
    })
    return [
      most('start to healthz', median(starts), 'ms', 1_200),
      most('resident memory, idle', resident, 'MiB', 140),
    ]
  },
})

const packaged = bench({
  name: 'packaged',
  about: 'start, memory and a read of a build, beside those of `npm start`, in turns',
  setup: async (stage) => {
    const { path: folder } = stage.use(await tempDir('steeple-bench-'))
    return { folder, program: (await makeBuild(join(folder, 'build'), [])).program }
  },
  act: async ({ folder, program: built }) => {
    const once = async (dataDir: string, isFirst: boolean, more: { readonly program?: string }) => {
      const options = { ...AS_NPM_START, dataDir, outputFile: `${dataDir}.log`, ...more }
      // The first start makes keys.
      if (isFirst) await (await started(options)).stop()
      await using service = await started(options)
      await delay(REST_MS)
      const residentMiB = service.residentMiB()
      const { url, adminToken: token, startMs, startCpuMs } = service
      const { cpuMs } = await loadOn(service, { url: `${url}/v1/nodes`, token, connections: 64, seconds: 4 })
      return { startMs, startCpuMs, residentMiB, readCpuUs: 1_000 * cpuMs }
    }
    const rounds = await times(7, async (round) => ({
      built: await once(join(folder, 'built-data'), round === 0, { program: built }),
      plain: await once(join(folder, 'plain-data'), round === 0, {}),
    }))
    const row = (name: string, unit: string, of: keyof Awaited<ReturnType<typeof once>>): Finding =>
      mostTimes(`a build: ${name}`, median(rounds.map((one) => one.built[of])), unit, 1.1, [
        'npm start',
        median(rounds.map((one) => one.plain[of])),
      ])
    return [
      row('start to healthz', 'ms', 'startMs'),
      row('processor time of a start', 'ms', 'startCpuMs'),
      row('resident memory, idle', 'MiB', 'residentMiB'),
      row('processor time of a GET', 'µs', 'readCpuUs'),
    ]
  },
})

const read = bench({
  name: 'read',
  about: "GET of one node's record with a scoped token, beside a bare fastify route with its schema and read",
  setup: async (stage) => {
    const { path: folder } = stage.use(await tempDir('steeple-bench-'))
    const service = stage.use(await started({ outputFile: join(folder, 'log') }))
    const [{ node_id }] = (await done(service, 'GET', '/v1/nodes')).nodes
    const path = `/v1/nodes/${node_id}/enroll`
    const { token } = await done(service, 'POST', '/v1/tokens', { name: 'bench', roles: ['viewer'] })
    const schema = answerSchema(await done(service, 'GET', '/v1/openapi.json'))
    const { body } = await service.request('GET', path, { token })
    const database = join(service.dataDir, 'svc.db')
    const bare = stage.use(await program<string>('bare-read', { database, schema, body }))
    return [
      { child: service.child, url: service.url + path, token },
      { child: bare.child, url: bare.said + path },
    ] as const
  },
  act: async (servers) => {
    const shared = { connections: 64, seconds: 4 }
    const [ours, bare] = servers
    const once = async () => ({
      ours: await loadOn(ours, { ...ours, ...shared }),
      bare: await loadOn(bare, { ...bare, ...shared }),
    })
    await once()
    const rounds = await times(5, once)
    const of = (who: 'ours' | 'bare', what: 'perSecond' | 'cpuMs') =>
      median(rounds.map((one) => one[who][what]))
    const ceiling = of('bare', 'perSecond')
    return [
      least('GET one record, scoped token', of('ours', 'perSecond'), '/s', 0.6 * ceiling, {
        beside: ['bare fastify, same schema and read', ceiling],
        target: '≥ 60 %',
      }),
      told('CPU of that GET', 1_000 * of('ours', 'cpuMs'), 'µs', {
        beside: ['bare fastify', 1_000 * of('bare', 'cpuMs')],
        target: 'for comparison',
      }),
    ]
  },
})

/** The success schema of the route that is read, with every reference resolved. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
function answerSchema(document: any): object {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const { $ref } = value as { readonly $ref?: string }
    if ($ref !== undefined)
      return resolve(
        $ref
          .slice(2)
          .split('/')
          .reduce((at, key) => at[key], document),
      )
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part)]))
  }
  const { responses } = document.paths['/v1/nodes/{id}/enroll'].get
  return resolve(responses['200'].content['application/json'].schema) as object
}

const ROUTES = 150

const generation = bench({
  name: 'generation',
  about: 'how long the event loop stands still while the set of plugins changes, with many routes',
  setup: (stage) => bedOf(stage, ['access', 'nodes', 'policy'], [manyRoutes('many', ROUTES)]),
  act: async (bed) => {
    const small = manyRoutes('small', 1)
    const stalls = await times(30, async () => {
      const stalled = monitorEventLoopDelay({ resolution: 1 })
      stalled.enable()
      await bed.load(small)
      await bed.unload('small')
      stalled.disable()
      return stalled.max / 1e6
    })
    const name = `rebuild of the HTTP generation, ${ROUTES}+ routes`
    return [most(name, quantile(stalls.slice(3), 0.5), 'ms stall', 20, { target: '≤ 20 ms' })]
  },
})

function manyRoutes(id: string, count: number): InlinePlugin {
  const schema = {
    params: objectSchema({ id: { type: 'string', pattern: '^[0-9a-f]{12}$' } }, ['id']),
    body: objectSchema({ a: { type: 'integer', minimum: 0 }, b: { type: 'string' } }, ['a']),
    response: objectSchema({ x: { type: 'string' }, y: { type: 'array', items: { type: 'string' } } }),
  }
  const routes = Array.from({ length: count }, (_, n) =>
    route<{ id: string }, unknown, { a: number }>({
      ...{ method: 'POST', path: `/v1/${id}${n}/:id`, role: 'viewer', summary: 'Bench', audit: 'bench.run' },
      schema,
      handle: async (request) =>
        await request.mutate(request.params.id, async () => ({ body: { x: 'a', y: ['b'] } })),
    }),
  )
  return {
    name: `@bench/${id}`,
    version: '1.0.0',
    manifest: { id, kind: 'feature', contracts: '*', config_path: id, handover: 'overlap' },
    plugin: { setup: async () => ({ routes }) },
  }
}

const NAMES = ['a', 'b', 'c'] as const
/** So little of a core for each that database and load generator have room beside three of them. */
const SHARE = 0.12

const instances = bench({
  name: 'instances',
  about: 'GET of one record from 1, 2 and 3 instances on one PostgreSQL, each with a small share of a core',
  setup: async (stage) => {
    if (PG_URL === '') return undefined
    const { path: dir } = stage.use(await tempDir('steeple-bench-'))
    const schema = stage.adopt(await ownSchema(), async (own) => await own.drop())
    const made = await createFleet({ dir, store: () => schema.url, env: { SVC_HSS_DRIVER: 'none' } })
    const fleet = stage.adopt(made, async (own) => await own.end())
    const quotas = await times(NAMES.length, async (n) => {
      const { child } = await fleet.start(NAMES[n] ?? '')
      const quota = limitCpu(child.pid ?? 0, SHARE)
      stage.defer(() => quota?.end())
      return quota
    })
    return { fleet, isLimited: !quotas.includes(undefined) }
  },
  act: async (world) => {
    if (world === undefined) {
      process.stderr.write('  needs SVC_TEST_PG_URL\n')
      return []
    }
    const rounds = await times(3, () => times(NAMES.length, (n) => rateOf(world.fleet, n + 1)))
    const of = (count: number, pick: 'perSecond' | 'cpuUs'): number =>
      median(rounds.map((round) => round[count - 1]?.[pick] ?? 0))
    const how = world.isLimited ? `each ${SHARE * 100} % of a core` : 'without quota'
    const one = of(1, 'perSecond')
    return [1, 2, 3].map((count) => {
      const name = `GET one record, ${count} instance(s), ${how}, ${Math.round(of(count, 'cpuUs'))} us of each`
      const value = of(count, 'perSecond')
      return line(name, value, '/s', count !== 3 || value >= 1.6 * one, {
        ...(count === 1 ? {} : { beside: ['one instance', one] }),
        target: count === 3 ? '≥ 1.6 times one' : '',
      })
    })
  },
})

/** Answers per second, and the processor time of the instances for one. */
async function rateOf(fleet: Fleet, count: number) {
  const services = NAMES.slice(0, count).map((name) => fleet.of(name))
  const [first] = services
  const node = first === undefined ? undefined : (await done(first, 'GET', '/v1/nodes')).nodes[0]
  const before = services.map(cpuOf)
  const shared = { token: fleet.token, connections: 8, seconds: 4 }
  const results = await Promise.all(
    services.map(({ url }) => load({ url: `${url}/v1/nodes/${node.node_id}/enroll`, ...shared })),
  )
  const usedMs = services.map(cpuOf).reduce((sum, ms, at) => sum + ms - (before[at] ?? 0), 0)
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    cpuUs:
      (1_000 * usedMs) /
      Math.max(
        1,
        results.reduce((sum, { total }) => sum + total, 0),
      ),
  }
}

/** What a start, a request and a change of plugins take. */
export const EDGE: readonly Bench[] = [start, packaged, read, generation, instances]
