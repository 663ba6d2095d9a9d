import { fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Service, startService } from '../harness/service.ts'
import { cpuMs, type Finding, type LoadResult, load, median } from './measure.ts'

const ROUNDS = 5
const SECONDS = 4
const CONNECTIONS = 64
const LEAST_SHARE = 0.6
const BARE = fileURLToPath(new URL('./bare-read.ts', import.meta.url))

interface Server {
  readonly url: string
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
}

interface Round {
  readonly perSecond: number
  readonly cpuUs: number
}

/** GET of one node's record with a scoped token, beside a bare fastify route with the same schema and read. */
export async function benchRead(): Promise<readonly Finding[]> {
  const service = await startService({ outputFile: join(tmpdir(), `steeple-bench-${process.pid}.log`) })
  try {
    const nodeId = (await service.request('GET', '/v1/nodes')).body.nodes[0].node_id as string
    const path = `/v1/nodes/${nodeId}/enroll`
    const token = (
      await service.request('POST', '/v1/tokens', { body: { name: 'bench', roles: ['viewer'] } })
    ).body.token as string
    const document = (await service.request('GET', '/v1/openapi.json')).body
    const answer = await service.request('GET', path, { token })
    const bare = await startBare(service, nodeId, responseSchema(document), answer.body)
    const ours: Server = {
      url: service.url + path,
      pid: service.child.pid ?? 0,
      headers: { authorization: `Bearer ${token}` },
    }
    const rounds: { readonly ours: Round; readonly bare: Round }[] = []
    await once(ours)
    await once(bare.server)
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({ ours: await once(ours), bare: await once(bare.server) })
    bare.stop()
    const share = (pick: (round: Round) => number): readonly [number, number] => [
      median(rounds.map((round) => pick(round.ours))),
      median(rounds.map((round) => pick(round.bare))),
    ]
    const [rate, bareRate] = share(({ perSecond }) => perSecond)
    const [cpu, bareCpu] = share(({ cpuUs }) => cpuUs)
    return [
      {
        name: 'GET one record, scoped token',
        value: rate,
        unit: '/s',
        beside: { what: 'bare fastify, same schema and read', value: bareRate },
        target: `≥ ${LEAST_SHARE * 100} %`,
        isMet: rate >= LEAST_SHARE * bareRate,
      },
      {
        name: 'CPU of that GET',
        value: cpu,
        unit: 'µs',
        beside: { what: 'bare fastify', value: bareCpu },
        target: 'for comparison',
        isMet: true,
      },
    ]
  } finally {
    await service.stop()
  }
}

async function once({ url, pid, headers }: Server): Promise<Round> {
  const before = cpuMs(pid)
  const result: LoadResult = await load({ url, headers, connections: CONNECTIONS, seconds: SECONDS })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} answers were not 2xx, ${result.errors} failed`)
  return { perSecond: result.perSecond, cpuUs: (1000 * (cpuMs(pid) - before)) / result.total }
}

/** The success schema of the route, with every reference resolved. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
function responseSchema(document: any): unknown {
  const schema =
    document.paths['/v1/nodes/{id}/enroll'].get.responses['200'].content['application/json'].schema
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const reference = (value as { readonly $ref?: string }).$ref
    if (reference !== undefined) {
      const target = reference
        .slice(2)
        .split('/')
        .reduce((at, key) => at[key], document)
      return resolve(target)
    }
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part)]))
  }
  return resolve(schema)
}

async function startBare(
  service: Service,
  nodeId: string,
  schema: unknown,
  body: unknown,
): Promise<{ readonly server: Server; stop(): void }> {
  const child = fork(BARE, { execArgv: ['--no-warnings'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.send({ database: join(service.dataDir, 'svc.db'), schema, body })
  const url = await new Promise<string>((resolve, reject) => {
    child.on('message', (message) => resolve(String(message)))
    child.on('exit', (code) => reject(new Error(`the bare server ended with ${code}`)))
  })
  return {
    server: { url: `${url}/v1/nodes/${nodeId}/enroll`, pid: child.pid ?? 0, headers: {} },
    stop: () => {
      child.removeAllListeners('exit')
      child.kill()
    },
  }
}
