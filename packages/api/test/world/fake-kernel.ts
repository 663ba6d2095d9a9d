import {
  type Authenticator,
  authenticatorRef,
  type BootstrapTokens,
  bootstrapTokenInvalid,
  bootstrapTokensRef,
  expandRoles,
  type MutationTx,
  type Principal,
  pluginNotFound,
  type Reply,
  type Role,
  rateLimited,
  type ServiceRef,
  type Settings,
  storeUnavailable,
  tokenExpired,
} from '@steeple/contracts'
import type {
  IdempotencyClaim,
  Mutation,
  MutationResult,
  Outbox,
  OutboxEvent,
  PluginRecord,
  StoredReply,
} from '@steeple/kernel'
import { defaultSettings, type Overrides } from '@steeple/testkit'
import type { EdgeKernel } from '../../src/edge-kernel.ts'

/** What a mutation or a refusal left in the fake's audit trail. */
export interface Audited {
  readonly principal: string
  readonly action: string
  readonly target: string
  readonly outcome: 'ok' | 'denied' | 'failed'
  readonly requestId: string | undefined
  readonly detail?: Readonly<Record<string, unknown>>
}

/** A kernel in memory: enough of one to be served by an edge, and to be looked into by a test. */
export interface FakeKernel extends EdgeKernel {
  settings: Settings
  readonly audited: Audited[]
  readonly lines: {
    readonly level: string
    readonly facts: Record<string, unknown>
    readonly message: string
  }[]
  readonly kept: Map<string, StoredReply>
  readonly services: Map<string, object>
  readonly plugins: Map<string, PluginRecord>
  /** When set, the store answers nothing. */
  isDown: boolean
  /** Its store is damaged, and says so. */
  mayMissRows: boolean
  /** Makes a scoped token with these roles and gives it. */
  token(name: string, roles: readonly Role[]): string
  /** Makes a scoped token with that very text. */
  tokenOf(token: string, roles: readonly Role[]): void
  revoke(token: string): void
  expire(token: string): void
  bootstrap(nodeId: string): string
  emit(type: string, subject: string, data?: Record<string, unknown>): void
  /** Forgets all events up to this id. */
  sweepTo(id: number): void
  changeSettings(overrides: Overrides<Settings>): void
}

const WINDOW_S = 3_600

export function fakeKernel(overrides: Overrides<Settings> = {}): FakeKernel {
  const audited: Audited[] = []
  const lines: FakeKernel['lines'] = []
  const kept = new Map<string, StoredReply>()
  const services = new Map<string, object>()
  const plugins = new Map<string, PluginRecord>()
  const tokens = new Map<string, Principal | 'expired'>()
  const bootstraps = new Map<string, string>()
  const spent = new Map<string, number>()
  const listeners = new Set<Parameters<Outbox['onCommit']>[0]>()
  const settingsListeners = new Set<() => void>()
  let events: OutboxEvent[] = []
  let lastId = 0
  let floor = 0
  const limits: Record<string, number> = { spectrum_check: 3, sim_issue: 500 }

  const log =
    (level: string) =>
    (facts: object, message: string): void => {
      lines.push({ level, facts: { ...facts }, message })
    }
  const refuseWhenDown = (): void => {
    if (kernel.isDown) throw storeUnavailable('the disk is full')
  }
  const emit = (type: string, subject: string, data: Record<string, unknown> = {}): void => {
    lastId += 1
    events.push({ id: lastId, atMs: 1_000 * lastId, type, subject, data })
    for (const listener of [...listeners]) listener(undefined)
  }
  const take = (mutation: Pick<Mutation, 'principal' | 'rateLimit'>): MutationResult['rate'] => {
    const { rateLimit, principal } = mutation
    if (rateLimit === undefined) return undefined
    const limit = limits[rateLimit.name] ?? 10
    const key = `${principal.id} ${rateLimit.name}`
    const used = (spent.get(key) ?? 0) + rateLimit.cost
    if (used > limit) {
      const rate = { limit, remaining: limit - (used - rateLimit.cost), resetS: WINDOW_S }
      throw Object.assign(rateLimited(`at most ${limit} per hour`, { retryAfterS: WINDOW_S }), { rate })
    }
    spent.set(key, used)
    return { limit, remaining: limit - used, resetS: WINDOW_S }
  }
  const run = async (mutation: Mutation): Promise<MutationResult> => {
    refuseWhenDown()
    const rate = take(mutation)
    let target = mutation.target
    let event = { type: mutation.action ?? '', subject: target, data: {} as Record<string, unknown> }
    const tx: MutationTx = {
      get: async () => undefined,
      all: async () => [],
      run: async () => 0,
      afterCommit: () => undefined,
      audit: (entry) => {
        target = entry.target ?? target
      },
      event: (given) => {
        event = { type: given.type, subject: given.subject, data: { ...given.data } }
      },
      tell: () => undefined,
      dirty: () => undefined,
    }
    const note = (outcome: 'ok' | 'failed'): void => {
      if (mutation.action === undefined) return
      const { requestId, action } = mutation
      audited.push({ principal: mutation.principal.id, action, target, outcome, requestId })
    }
    let reply: Reply
    try {
      reply = await mutation.work(tx)
    } catch (error) {
      note('failed')
      throw error
    }
    if (mutation.idempotency !== undefined) await keep(mutation.idempotency, reply)
    note('ok')
    if (mutation.action !== undefined) emit(event.type, event.subject, event.data)
    return { reply, rate }
  }
  const keep = async (claim: IdempotencyClaim, reply: Reply): Promise<void> => {
    refuseWhenDown()
    kept.set(claim.scope, { bodySha256: claim.bodySha256, reply: structuredClone(reply) })
  }
  const outbox: Outbox = {
    after: async (id, limit) => events.filter((event) => event.id > id).slice(0, limit),
    lastId: async () => lastId,
    floorId: async () => floor,
    onCommit: (listener, signal) => {
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
  }
  const authenticator: Authenticator = {
    authenticate: async (token) => {
      refuseWhenDown()
      const found = tokens.get(token)
      if (found === 'expired') throw tokenExpired()
      return found
    },
  }
  const bootstrapTokens: BootstrapTokens = {
    check: async (token, nodeId) => {
      if (bootstraps.get(token) !== nodeId) throw bootstrapTokenInvalid()
      return { id: 'bootstrap-1', roles: [], isUsed: false }
    },
    burn: async () => undefined,
    mint: async () => ({ id: 'bootstrap-2', token: '', expiresAtMs: 0 }),
  }
  services.set(authenticatorRef.id, authenticator)
  services.set(bootstrapTokensRef.id, bootstrapTokens)

  const change = (name: string, state: PluginRecord['state']): PluginRecord => {
    const known = plugins.get(name)
    if (known === undefined) throw pluginNotFound(name)
    const next: PluginRecord = { ...known, state }
    plugins.set(name, next)
    return next
  }

  const kernel: FakeKernel = {
    audited,
    lines,
    kept,
    services,
    plugins,
    isDown: false,
    mayMissRows: false,
    settings: defaultSettings(overrides),
    log: {
      debug: log('debug'),
      info: log('info'),
      warn: log('warn'),
      error: log('error'),
      plain: log('info'),
    },
    clock: {
      nowMs: () => Math.round(performance.timeOrigin + performance.now()),
      monotonicMs: () => performance.now(),
    },
    mutations: {
      run,
      keep,
      refuse: async ({ principal, action, target, outcome, requestId, detail }) => {
        refuseWhenDown()
        const more = detail === undefined ? {} : { detail }
        audited.push({ principal: principal.id, action, target, outcome, requestId, ...more })
      },
      take: async (of) => void take(of),
      observe: async () => {
        throw new Error('the edge observes nothing')
      },
      stored: async (scope) => {
        refuseWhenDown()
        return kept.get(scope)
      },
      sweep: async () => undefined,
    },
    outbox,
    info: {
      version: '0.1.0',
      commit: undefined,
      buildDate: undefined,
      startedAtMs: 0,
      instance: () => ({ name: '', role: 'alone', leader: '', epoch: 0, isMachine: true }),
      plugins: () => [{ name: 'sample', version: '1.0.0' }],
    },
    registry: {
      secrets: async () => [],
      writeSecret: async () => undefined,
      list: () => [...plugins.values()],
      install: async () => change('sample', 'running'),
      load: async (name) => change(name, 'running'),
      unload: async (name) => change(name, 'unloaded'),
      reload: async (name) => change(name, 'running'),
      disable: async (name) => change(name, 'disabled'),
      enable: async (name) => change(name, 'running'),
      uninstall: async (name) => change(name, 'unloaded'),
    },
    db: {
      probe: async () => (kernel.isDown ? 'the disk is full' : undefined),
      mayMissRows: () => kernel.mayMissRows,
    },
    // The map holds what was put there under that ref.
    service: <T extends object>(ref: ServiceRef<T>) => services.get(ref.id) as T | undefined,
    settingsInForce: () => [
      {
        key: 'server.country',
        about: 'Country whose rules hold for the radio.',
        takes: 'two capital letters',
        default: 'LAB',
        value: 'DE',
        from: 'control.yaml:2:12',
        apply: 'hot',
        isSettable: true,
        awaitsStart: false,
        variable: 'SVC_SERVER_COUNTRY',
        flag: undefined,
        plugin: undefined,
      },
    ],
    features: () => [
      { prefix: '/v1/sims', plugin: 'sims' },
      { prefix: '/v1/esim', plugin: 'esim-smdp' },
      { prefix: '/v1/plain/:id/extra', plugin: 'extra' },
    ],
    metricsText: async () => '# TYPE svc_sim_state gauge\nsvc_sim_state{state="in-use"} 2\n',
    metricsRevision: () => 0,
    onSettings: (listener) => {
      settingsListeners.add(listener)
    },
    token: (name, roles) => {
      const token = `svc_${name}_${'x'.repeat(30)}`
      tokens.set(token, { kind: 'token', id: `id-${name}`, name, roles: expandRoles(roles) })
      return token
    },
    tokenOf: (token, roles) => {
      tokens.set(token, { kind: 'token', id: `id-${token}`, name: token, roles: expandRoles(roles) })
    },
    revoke: (token) => {
      tokens.delete(token)
    },
    expire: (token) => {
      tokens.set(token, 'expired')
    },
    bootstrap: (nodeId) => {
      const token = `svcb_${'0'.repeat(32)}_${nodeId}`
      bootstraps.set(token, nodeId)
      return token
    },
    emit,
    sweepTo: (id) => {
      floor = id
      events = events.filter((event) => event.id > id)
    },
    changeSettings: (more) => {
      kernel.settings = defaultSettings(more)
      for (const listener of settingsListeners) listener()
    },
  }
  return kernel
}
