import {
  type ComponentState,
  expandRoles,
  type HealthBoard,
  healthBoardRef,
  isServiceError,
  type NodeIdentity,
  nodeIdentityRef,
  type Principal,
  type Reply,
  type Request,
  type Role,
  type Route,
  type ServiceInfo,
  serviceInfoRef,
  type TxGate,
  txGateRef,
} from '@steeple/contracts'
import {
  type FakeClock,
  type FakeContext,
  fakeClock,
  fakeContext,
  type MemoryDb,
  memoryDb,
} from '@steeple/testkit'
import { MIGRATIONS, NODES, type NodeRow } from '../src/node-store.ts'

export const OWN_ID = '11111111-2222-4333-8444-555555555555'
export const OTHER_ID = '66666666-7777-4888-9999-000000000000'
const YEAR_MS = 31_536_000_000

/** What tests turn around the plugin. */
export interface World {
  readonly fake: FakeContext<unknown>
  readonly db: MemoryDb
  readonly clock: FakeClock
  components: ComponentState[]
  isReady: boolean
  isArmed: boolean
  certificateExpiresAtMs: number
}

/** A context with the services of the kernel and a TX gate that the test turns. */
export function nodesWorld(db: MemoryDb = memoryDb(MIGRATIONS), clock: FakeClock = fakeClock()): World {
  const identity: NodeIdentity = {
    nodeId: OWN_ID,
    name: 'box',
    createdAtMs: clock.nowMs() - 1_000,
    caSha256: 'ab'.repeat(32),
    get certificateExpiresAtMs() {
      return world.certificateExpiresAtMs
    },
  }
  const board: HealthBoard = {
    components: () => world.components,
    fresh: async () => world.components,
    get isReady() {
      return world.isReady
    },
  }
  const info: ServiceInfo = {
    version: '1.2.3',
    commit: undefined,
    buildDate: undefined,
    startedAtMs: clock.nowMs(),
    plugins: () => [],
    instance: () => ({ name: '', role: 'alone' as const, leader: '', epoch: 0, isMachine: true }),
  }
  const services = new Map<string, object>([
    [nodeIdentityRef.id, identity],
    [healthBoardRef.id, board],
    [serviceInfoRef.id, info],
    [txGateRef.id, { state: async () => gateState(world.isArmed) } satisfies Pick<TxGate, 'state'>],
  ])
  const world: World = {
    fake: fakeContext<unknown>({ id: 'nodes', config: {}, db, clock, services }),
    db,
    clock,
    components: [],
    isReady: true,
    isArmed: false,
    certificateExpiresAtMs: clock.nowMs() + YEAR_MS,
  }
  return world
}

function gateState(armed: boolean): Awaited<ReturnType<TxGate['state']>> {
  const set = armed ? 'set' : 'missing'
  const gates = { country_code: set, license_ack: set, allow_list: set } as const
  return { armed, gates, profile: undefined, transmitter: armed ? 'on' : 'off' }
}

/** Stores a node. */
export async function storedNode(
  db: MemoryDb,
  over: Partial<NodeRow> & { readonly node_id: string },
): Promise<NodeRow> {
  const row: NodeRow = {
    name: 'another box',
    state: 'register',
    state_since_ms: 0,
    created_at_ms: 0,
    enrolled_at_ms: null,
    certificate_expires_at_ms: null,
    left_at_ms: null,
    ...over,
  }
  await db.write((tx) => NODES.insert(tx, row))
  return row
}

export function component(over: Partial<ComponentState> & { readonly name: string }): ComponentState {
  return { kind: 'core', status: 'ok', detail: '', required: true, sinceMs: 0, lastOkAtMs: 0, ...over }
}

export function principal(kind: Principal['kind'], id: string, ...roles: readonly Role[]): Principal {
  return { kind, id, name: id, roles: expandRoles(roles) }
}

/** The code of the error that `work` rejects with, or `none`. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (isServiceError(error) ? error.code : String(error)),
  )
}

/** Calls a route that takes no page and changes nothing, past the edge. */
export function read(routes: readonly Route[], path: string, params: object = {}): Promise<Reply> {
  const found = routes.find((one) => one.method === 'GET' && one.path === path)
  if (found === undefined) throw new Error(`there is no route ${path}`)
  const request: Partial<Request> = { params }
  return found.handle(request as Request<never, never, never>)
}
