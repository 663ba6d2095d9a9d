import {
  type Instance,
  isServiceError,
  type Lifecycle,
  lifecycleRef,
  type MutationTx,
  type Outcome,
  type Principal,
  type Reply,
  type Request,
  type Settings,
  transmitterRef,
  txGateRef,
} from '@steeple/contracts'
import {
  type FakeContext,
  fakeContext,
  type MemoryDb,
  memoryDb,
  type Overrides,
  reconcileOne,
  type TempDir,
  tempDir,
} from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import { plugin } from '../../src/plugin.ts'

const ALICE: Principal = { kind: 'token', id: 'tok-1', name: 'alice', roles: new Set(['admin']) }

export const PROFILES: Settings['ran']['profiles'] = {
  'b3-lab': { technology: 'lte', channel: 1300, bandwidth_mhz: 10, eirp_dbm: 20 },
  'b3-other': { technology: 'lte', channel: 1500, bandwidth_mhz: 10, eirp_dbm: 20 },
  n78: { technology: 'nr', channel: 630_000, band: 'n78', bandwidth_mhz: 20 },
}

/** What opens the license and allow-list layers for band b3 in Germany. */
export const OPEN_POLICY = {
  spectrum: {
    allow_list: [{ technology: 'lte', band: 'b3', country: 'DE' }],
    license: { acknowledged: true, reference: 'BNetzA-1', holder: 'Example', expires_at: null },
  },
}

/** A transmitter whose stop can fail or never end; knows whether it is on air. */
interface FakeTransmitter {
  mode: 'obeys' | 'fails' | 'hangs'
  isOnAir: boolean
  stops: number
  stop(signal: AbortSignal): Promise<void>
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly error: string | undefined
  readonly details: readonly { readonly pointer: string; readonly message: string }[]
  /** Of a file that is answered. */
  readonly octets?: Buffer
}

/** The plugin on a fake context and a real SQLite in memory, without HTTP. */
export interface World {
  readonly fake: FakeContext<unknown>
  readonly db: MemoryDb
  readonly instance: Instance
  readonly transmitter: FakeTransmitter
  readonly lifecycle: string[]
  /** Lets the next mutations wait for that, as behind a lock of another process. */
  holdStore(until: Promise<void>): void
  /** Makes the next mutations fail as a full disk does. */
  failStore(isFailing: boolean): void
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** One pass of the reconciler. */
  reconcile(): Promise<Outcome>
  /** Another copy of the plugin on the same store and data directory, as after a restart. */
  restart(settings?: Overrides<Settings>): Promise<World>
  /** Another copy of the plugin in the same process, as after a reload of it. */
  reload(): Promise<World>
  /** The data directory of the node. */
  readonly dataDir: string
  close(): Promise<void>
}

export function settingsOf(
  country: string,
  profiles: Settings['ran']['profiles'] = PROFILES,
): Overrides<Settings> {
  return { server: { country }, ran: { profiles } }
}

export async function world(
  settings: Overrides<Settings> = settingsOf('DE'),
  db: MemoryDb = memoryDb(MIGRATIONS),
  kept: { readonly data?: TempDir; readonly transmitter?: FakeTransmitter; readonly gate?: object } = {},
): Promise<World> {
  const data = kept.data ?? (await tempDir())
  const server = { ...settings.server, data_dir: data.path }
  const fake = fakeContext<unknown>({ config: {}, id: 'policy', settings: { ...settings, server }, db })
  if (kept.gate !== undefined) fake.services.set(txGateRef.id, kept.gate)
  const transmitter: FakeTransmitter = kept.transmitter ?? {
    mode: 'obeys',
    isOnAir: false,
    stops: 0,
    stop: async () => {
      transmitter.stops += 1
      if (transmitter.mode === 'fails') throw new Error('radio does not answer')
      if (transmitter.mode === 'hangs') await new Promise<never>(() => undefined)
      transmitter.isOnAir = false
    },
  }
  fake.services.set(transmitterRef.id, transmitter)
  const lifecycle: string[] = []
  const nodes: Lifecycle = {
    state: async () => (lifecycle.at(-1) === 'armed' ? 'on_air' : 'register'),
    txArmed: async () => {
      lifecycle.push('armed')
    },
    txDisarmed: async () => {
      lifecycle.push('disarmed')
    },
  }
  fake.services.set(lifecycleRef.id, nodes)
  let isFailing = false
  let held: Promise<void> | undefined
  const failure = Object.assign(new Error('disk full'), { code: 'store_unavailable', status: 503 })
  const { context } = fake
  const failing = {
    mutate: async (...args: Parameters<typeof context.mutate>) => {
      await held
      if (isFailing) throw failure
      await context.mutate(...args)
    },
  }
  // Getters of the fake context (settings) must stay live.
  const instance = await plugin.setup(Object.create(context, { mutate: { value: failing.mutate } }))
  await instance.start?.()
  const call: World['call'] = async (method, path, body, headers = {}) => {
    const { template, params, query } = addressOf(path)
    const route = instance.routes?.find((each) => each.method === method && each.path === template)
    if (route === undefined) throw new Error(`no route ${method} ${path}`)
    const request: Request<unknown, unknown, unknown> = {
      id: 'r-1',
      params,
      query,
      body,
      principal: ALICE,
      peerAddress: '127.0.0.1',
      signal: new AbortController().signal,
      header: (name) => headers[name],
      page: () => {
        throw new Error('no list route')
      },
      mutate: async (target: string, work: (tx: MutationTx) => Promise<Reply>) => {
        let reply: Reply = {}
        await failing.mutate(ALICE, String(route.audit), target, async (tx) => {
          reply = await work(tx)
        })
        return reply
      },
      take: async () => undefined,
    }
    try {
      const reply = await route.handle(request as Request<never, never, never>)
      const answer = answerOf(reply.status ?? 200, reply.body, reply.headers ?? {})
      if (reply.stream === undefined) return answer
      const pieces: Buffer[] = []
      for await (const piece of reply.stream) pieces.push(Buffer.from(piece))
      return { ...answer, octets: Buffer.concat(pieces) }
    } catch (error) {
      if (!isServiceError(error)) throw error
      const answer = answerOf(error.status, { message: error.message }, {})
      return { ...answer, error: error.code, details: error.details ?? [] }
    }
  }
  return {
    fake,
    db,
    instance,
    transmitter,
    lifecycle,
    call,
    dataDir: data.path,
    holdStore: (until) => {
      held = until
    },
    failStore: (value) => {
      isFailing = value
    },
    reconcile: () => reconcileOne(instance.reconcilers?.[0], 'gate'),
    restart: async (changed) => {
      await fake.dispose()
      return world(changed ?? settings, db, { data })
    },
    reload: async () => {
      await instance.quiesce?.('upgrade')
      await fake.dispose()
      const gate = instance.services?.get(txGateRef.id)
      return world(settings, db, { data, transmitter, ...(gate === undefined ? {} : { gate }) })
    },
    close: async () => {
      await fake.dispose()
      await data.remove()
      db.close()
    },
  }
}

/** The route that a path means, with its parameters. */
function addressOf(path: string): {
  readonly template: string
  readonly params: object
  readonly query: object
} {
  const [place = '', search] = path.split('?')
  const query = search === 'dry_run=true' ? { dry_run: true } : {}
  const [, list, id, rest = ''] =
    /^(\/v1\/tx\/profiles|\/v1\/policy\/license\/documents)\/([^/]+)(\/.+)?$/.exec(place) ?? []
  if (id === undefined) return { template: place, params: {}, query }
  return { template: `${list}/:id${rest}`, params: { id }, query }
}

/** A world whose three gates are green. */
export async function openWorld(): Promise<World> {
  const open = await world()
  const answer = await open.call('PUT', '/v1/policy', OPEN_POLICY)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer))
  return open
}

function answerOf(status: number, body: unknown, headers: Readonly<Record<string, string>>): Answer {
  return {
    status,
    body: (body ?? {}) as Readonly<Record<string, unknown>>,
    headers,
    error: undefined,
    details: [],
  }
}
