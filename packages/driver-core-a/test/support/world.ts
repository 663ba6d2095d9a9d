import { mkdir, readdir, readFile } from 'node:fs/promises'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { join, relative } from 'node:path'
import type { Context, Settings } from '@steeple/contracts'
import { type ContainerEngine, containerEngine } from '@steeple/lab-core'
import { type FakeContext, fakeContext, listen, memoryDb, type Overrides, tempDir } from '@steeple/testkit'
import { type CoreA, type CoreSeams, coreA } from '../../src/core-driver.ts'
import { corePlaces } from '../../src/core-places.ts'
import { type Daemon, daemonsOf } from '../../src/render/roles.ts'
import { REGISTRATIONS } from '../../src/verify/probe.ts'
import { recording } from './recordings.ts'
import { type StandInCore, type StandInDaemon, standInCore } from './stand-in-core.ts'

/** A service bus: an AMF that is told of deregistrations and an NRF that lists functions. HTTP/2 in the clear only. */
interface StandInBus {
  origin: string
  /** What the AMF was told: path and body. */
  readonly told: { readonly path: string; readonly body: string; readonly headers: readonly string[] }[]
  answer: (supi: string) => number
  /** Types that are registered at the NRF. */
  types: readonly string[]
  /** Services that are not registered although their function is. */
  readonly withdrawn: Set<string>
  close(): Promise<void>
}

const LIST = '/nnrf-nfm/v1/nf-instances'

/** Starts one on a port of its own. */
async function standInBus(): Promise<StandInBus> {
  const server = createServer()
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  const bus: StandInBus = {
    origin: '',
    told: [],
    answer: () => 204,
    withdrawn: new Set(),
    types: ['AMF', 'SMF', 'AUSF', 'UDM', 'UDR', 'PCF', 'NSSF', 'BSF'],
    close: () => closed(server, sessions),
  }
  server.on('stream', (stream, headers) => {
    const path = String(headers[':path'])
    const names = Object.keys(headers).filter((name) => !name.startsWith(':'))
    stream.on('error', () => undefined)
    if (headers[':method'] === 'GET') answerNrf(bus, path, stream)
    else {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        bus.told.push({ path, body: Buffer.concat(chunks).toString('utf8'), headers: names })
        const supi = /imsi-[0-9]+/.exec(path)?.[0] ?? ''
        stream.respond({ ':status': bus.answer(supi), server: 'Open5GS v2.8.0' })
        stream.end()
      })
    }
  })
  bus.origin = (await listen(server)).url
  return bus
}

/** The list has links to its own host, as the recorded one. */
function answerNrf(bus: StandInBus, path: string, stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  if (path === LIST) {
    const item = bus.types.map((_type, index) => ({ href: `http://127.0.0.10:7777${LIST}/${index}` }))
    stream.end(JSON.stringify({ _links: { item } }))
    return
  }
  const profile = JSON.parse(/\{"nfInstanceId".*\}/.exec(recording('nrf-nf-instances.http.txt'))?.[0] ?? '{}')
  const nfType = bus.types[Number(path.split('/').at(-1))]
  const services = Object.values(REGISTRATIONS).find(({ type }) => type === nfType)?.services ?? []
  // One release names them in a list, another by their identities.
  const nfServices = services
    .filter((serviceName) => !bus.withdrawn.has(serviceName))
    .map((serviceName) => ({ serviceName, nfServiceStatus: 'REGISTERED' }))
  const told =
    nfType === 'UDM' ? { nfServices, nfServiceList: undefined } : { nfServiceList: { ...nfServices } }
  stream.end(JSON.stringify({ ...profile, ...told, nfType }))
}

async function closed(server: Http2Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  for (const session of sessions) session.destroy()
  await new Promise((resolve) => server.close(resolve))
}

/** A driver around a core made of recordings, containers that restart, and a directory of its own. */
export interface World extends AsyncDisposable {
  readonly fake: FakeContext<undefined>
  readonly core: StandInCore
  readonly bus: StandInBus
  readonly engine: ContainerEngine
  readonly a: CoreA
  readonly dir: string
  /** The addresses by which the core was looked for, each time. */
  readonly asked: Readonly<Record<string, string>>[]
  /** Files of the directory and restarts, as a text. */
  text(): Promise<string>
  close(): Promise<void>
}

/** Short bounds: what is well is well at once. */
const LIMITS = { settleMs: 5, healthMs: 10_000, pollMs: 5 }

/** Makes one. `generation` decides which daemons there are; all of them have containers. */
export async function world(
  generation: 'epc' | '5gc' = 'epc',
  settings: Overrides<Settings> = {},
  seams: Partial<CoreSeams> = {},
): Promise<World> {
  const [folder, core, bus] = await Promise.all([tempDir(), standInCore(), standInBus()])
  await mkdir(join(folder.path, 'core'))
  const daemons = daemonsOf([generation])
  const containers = Object.fromEntries(daemons.map((daemon) => [daemon, `core-${daemon}`]))
  const engine = containerEngine(Object.values(containers))
  const db = memoryDb()
  const fake = fakeContext({
    id: 'driver-core-a',
    config: undefined,
    db,
    settings: {
      southbound: { driver: 'container' },
      core_a: { config_dir: join(folder.path, 'core'), containers },
      server: { data_dir: join(folder.path, 'data') },
      ...settings,
    },
  })
  // Time goes by itself, and can be pushed on besides.
  const now = (): number => performance.now() + fake.context.clock.monotonicMs()
  // Not spread: its settings can change.
  const context: Context = Object.create(fake.context, {
    clock: { value: { nowMs: now, monotonicMs: now } },
  })
  const asked: Readonly<Record<string, string>>[] = []
  const a = coreA(context, {
    engine,
    limits: LIMITS,
    places: (current) => {
      asked.push(current.core_a.addresses)
      return {
        ...corePlaces(current),
        urlOf: (daemon: Daemon) => core.url(daemon as StandInDaemon), // those with a server are asked
        busOf: () => bus.origin,
      }
    },
    ...seams,
  })
  return {
    fake,
    core,
    bus,
    engine,
    a,
    asked,
    dir: join(folder.path, 'core'),
    text: async () => JSON.stringify([await filesIn(join(folder.path, 'core')), engine.restarted]),
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await fake.dispose()
      db.close()
      await Promise.all([core.close(), bus.close()])
      await folder.remove()
    },
  }
}

/** The files below a directory, sorted by path: path relative to it, content. */
export async function filesIn(dir: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  return await Promise.all(
    paths.map(async (path) => [relative(dir, path), await readFile(path, 'utf8')] as const),
  )
}
