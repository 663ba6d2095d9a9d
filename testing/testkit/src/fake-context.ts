import {
  type Context,
  type Db,
  type Labels,
  type Log,
  type Metrics,
  type MutationTx,
  type ObservedTx,
  type Principal,
  pluginDependencyMissing,
  type ServiceRef,
  type Settings,
  type StateEvent,
  type Tx,
} from '@steeple/contracts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { defaultSettings, type Overrides } from './settings.ts'

/** What a fake context starts with. Everything has a default but the configuration. */
export interface FakeContextOptions<Config> {
  readonly config: Config
  /** Plugin id; `test` when absent. */
  readonly id?: string
  /** The values of its secret keys. */
  readonly secrets?: Readonly<Record<string, string>>
  readonly settings?: Overrides<Settings>
  readonly clock?: FakeClock
  /** The store; without one every use of it throws and says so. See `memoryDb`. */
  readonly db?: Db
  /** What `use` and `maybe` find, by `ServiceRef.id`. May be changed while the test runs. */
  readonly services?: Map<string, object>
}

/** One line that the code under test logged. */
export interface LogLine {
  readonly level: keyof Log
  readonly facts: object
  readonly message: string
}

/** One call of `Context.mutate` that went through. */
export interface FakeMutation {
  principal: Principal
  readonly action: string
  target: string
  readonly detail: Record<string, unknown>
  event: {
    readonly type: string
    readonly subject: string
    readonly data?: Readonly<Record<string, unknown>>
  }
  /** Events beside its own. */
  readonly told: FakeMutation['event'][]
  readonly dirty: Enqueued[]
}

/** One key that the code under test asked to have reconciled. */
export interface Enqueued {
  readonly resource: string
  readonly key: string
  /** Present when it was asked for as urgent. */
  readonly isUrgent?: true
}

/** A context and what a test can see and do around it. */
export interface FakeContext<Config> {
  readonly context: Context<Config>
  readonly clock: FakeClock
  readonly metrics: FakeMetrics
  readonly services: Map<string, object>
  readonly logs: readonly LogLine[]
  readonly mutations: readonly FakeMutation[]
  /** The events of what was written by `Context.observe`. */
  readonly observed: readonly Pick<StateEvent, 'type' | 'subject' | 'data'>[]
  readonly enqueued: readonly Enqueued[]
  /** Lays other overrides over the defaults and tells the listeners, as SIGHUP does. */
  changeSettings(overrides: Overrides<Settings>): void
  /**
   * Gives an event to the handlers of `Context.on`, as the outbox does after a commit; `mutate` gives its own. Rejects with
   * what a handler throws: there is nobody here who tries again.
   */
  emit(event: Pick<StateEvent, 'type' | 'subject'> & Partial<StateEvent>): Promise<void>
  /** Puts a service in place, exchanges it, or takes it away, and tells the handlers of `Context.onChange`. */
  provide<T extends object>(ref: ServiceRef<T>, service: T | undefined): Promise<void>
  /** The ids of the services that the code under test said had `changed`. */
  readonly changed: readonly string[]
  /** How often it said that its health may be another. */
  readonly healthChanges: number
  /** Fires `retiring`. */
  retire(): void
  /** Retires, stops the periodic tasks and runs the deferred steps newest first. Idempotent. */
  dispose(): Promise<void>
}

/** Makes the context of a plugin without a kernel. Periodic tasks run when the fake clock advances, without jitter. */
export function fakeContext<Config>(options: FakeContextOptions<Config>): FakeContext<Config> {
  const clock = options.clock ?? fakeClock()
  const metrics = fakeMetrics()
  const services = options.services ?? new Map<string, object>()
  const db = options.db ?? missingDb()
  const { log, logs } = fakeLog()
  const life = fakeLife(clock)
  const listeners: (() => void)[] = []
  let healthChanges = 0
  let settings = defaultSettings(options.settings)
  const maybe: Context['maybe'] = <T extends object>(ref: { readonly id: string }) =>
    // Services are kept by id; the ref carries the type.
    services.get(ref.id) as T | undefined
  const news = fakeNews(clock, life.retiring, maybe)
  const writes = fakeWrites(db, news.emit)
  const { mutations, observed, enqueued } = writes
  const context: Context<Config> = {
    plugin: { id: options.id ?? 'test', version: '0.0.0' },
    config: options.config,
    get settings() {
      return settings
    },
    secret: async (key) => options.secrets?.[key],
    ...{ log, db, metrics, clock },
    retiring: life.retiring,
    defer: life.defer,
    every: life.every,
    onSettings: (listener) => {
      listeners.push(listener)
    },
    on: news.on,
    onChange: news.onChange,
    changed: news.changed,
    healthChanged: () => {
      healthChanges += 1
    },
    use: (ref) => {
      const service = maybe(ref)
      if (service === undefined) throw pluginDependencyMissing(ref.id)
      return service
    },
    maybe,
    provider: maybe,
    enqueue: (resource, key, isUrgent) => {
      enqueued.push(enqueuedOf(resource, key, isUrgent))
    },
    observe: writes.observe,
    mutate: writes.mutate,
  }
  return {
    ...{ context, clock, metrics, services, logs, mutations, observed, enqueued },
    changed: news.said,
    get healthChanges() {
      return healthChanges
    },
    emit: news.emit,
    provide: async (ref, service) => {
      if (service === undefined) services.delete(ref.id)
      else services.set(ref.id, service)
      await news.tellChange(ref.id)
    },
    changeSettings: (overrides) => {
      settings = defaultSettings(overrides)
      for (const listener of listeners) listener()
    },
    retire: life.retire,
    dispose: life.dispose,
  }
}

function fakeLog() {
  const logs: LogLine[] = []
  const line =
    (level: keyof Log) =>
    (facts: object, message: string): void => {
      logs.push({ level, facts, message })
    }
  const log: Log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  return { log, logs }
}

/** What runs until the plugin is taken down, and what is done then. */
function fakeLife(clock: FakeClock) {
  const deferred: (() => void | Promise<void>)[] = []
  const retirement = new AbortController()
  const { signal } = retirement
  const life: Pick<Context, 'retiring' | 'defer' | 'every'> &
    Pick<FakeContext<unknown>, 'retire' | 'dispose'> = {
    retiring: signal,
    defer: (step) => {
      deferred.push(step)
    },
    every: (everyMs, task) => {
      const timer = clock.setInterval(() => task(signal), everyMs)
      deferred.push(() => clock.clearInterval(timer))
    },
    retire: () => retirement.abort(),
    dispose: async () => {
      retirement.abort()
      for (let step = deferred.pop(); step !== undefined; step = deferred.pop()) await step()
    },
  }
  return life
}

/** Events and changes of services, and who wants to hear of them. */
function fakeNews(clock: FakeClock, signal: AbortSignal, maybe: Context['maybe']) {
  const onEvent: { readonly type: string; readonly handler: Parameters<Context['on']>[1] }[] = []
  const onChange: { readonly id: string; readonly told: () => void | Promise<void> }[] = []
  const said: string[] = []
  let lastEventId = 0
  const emit: FakeContext<unknown>['emit'] = async (event) => {
    lastEventId += 1
    const whole = { id: lastEventId, atMs: clock.nowMs(), data: {}, ...event }
    for (const { type, handler } of onEvent) {
      const isMeant = type.endsWith('*') ? event.type.startsWith(type.slice(0, -1)) : event.type === type
      if (isMeant) await handler(whole, signal)
    }
  }
  const tellChange = async (id: string): Promise<void> => {
    for (const each of onChange) if (each.id === id) await each.told()
  }
  const heard: Pick<Context, 'on' | 'onChange' | 'changed'> = {
    on: (type, handler) => {
      onEvent.push({ type, handler })
    },
    onChange: (ref, handler) => {
      onChange.push({ id: ref.id, told: () => handler(maybe(ref)) })
    },
    changed: ({ id }) => {
      said.push(id)
      void tellChange(id)
    },
  }
  return { ...heard, said, emit, tellChange }
}

/** The two ways of writing, with all that was written by them. */
function fakeWrites(db: Db, emit: FakeContext<unknown>['emit']) {
  const mutations: FakeMutation[] = []
  const observed: Pick<StateEvent, 'type' | 'subject' | 'data'>[] = []
  const enqueued: Enqueued[] = []
  const ways: Pick<Context, 'observe' | 'mutate'> = {
    observe: async (work) => {
      const told: Pick<StateEvent, 'type' | 'subject' | 'data'>[] = []
      const event: ObservedTx['event'] = ({ type, subject, data = {} }) =>
        void told.push({ type, subject, data })
      const result = await db.write((tx) => work({ ...tx, event }))
      observed.push(...told)
      for (const each of told) await emit(each)
      return result
    },
    mutate: async (principal, action, target, work) => {
      const mutation: FakeMutation = {
        principal,
        action,
        target,
        detail: {},
        event: { type: action, subject: target },
        told: [],
        dirty: [],
      }
      await db.write((tx) => work(mutationTx(tx, mutation)))
      mutations.push(mutation)
      enqueued.push(...mutation.dirty)
      for (const event of [mutation.event, ...mutation.told]) await emit(event)
    },
  }
  return { ...ways, mutations, observed, enqueued }
}

/** Adds to a transaction what a mutation may say, recorded in `mutation`. */
function mutationTx(tx: Tx, mutation: FakeMutation): MutationTx {
  return {
    ...tx,
    audit: (entry) => {
      mutation.target = entry.target ?? mutation.target
      mutation.principal = entry.principal ?? mutation.principal
      Object.assign(mutation.detail, entry.detail)
    },
    event: (event) => {
      mutation.event = event
    },
    tell: (event) => {
      mutation.told.push(event)
    },
    dirty: (resource, key, isUrgent) => {
      mutation.dirty.push(enqueuedOf(resource, key, isUrgent))
    },
  }
}

function enqueuedOf(resource: string, key: string, isUrgent = false): Enqueued {
  return isUrgent ? { resource, key, isUrgent } : { resource, key }
}

function missingDb(): Db {
  const refuse = async (): Promise<never> => {
    throw new Error('this fake context has no store; give fakeContext a db, for example memoryDb(migrations)')
  }
  return { dialect: 'sqlite', get: refuse, all: refuse, write: refuse, join: (tx) => tx }
}

/** Metrics that keep their values for a test to read. */
export interface FakeMetrics extends Metrics {
  /** The value of a counter or gauge; of a histogram the number of observations. Undefined when never touched. */
  value(name: string, labels?: Labels): number | undefined
  /** Names of everything declared, in order. */
  readonly names: readonly string[]
}

/** Makes metrics; a label that was not declared throws, as it does in the kernel. */
export function fakeMetrics(): FakeMetrics {
  const names: string[] = []
  const values = new Map<string, number>()
  const declare = (name: string, declared: readonly string[] = []): ((labels?: Labels) => string) => {
    names.push(name)
    return (labels = {}) => {
      for (const label of Object.keys(labels)) {
        if (!declared.includes(label)) throw new Error(`the metric ${name} has no label ${label}`)
      }
      return seriesKey(name, labels)
    }
  }
  const add = (key: string, by: number): void => {
    values.set(key, (values.get(key) ?? 0) + by)
  }
  return {
    names,
    value: (name, labels = {}) => values.get(seriesKey(name, labels)),
    counter: (name, _help, labels) => {
      const key = declare(name, labels)
      return { inc: (of, by = 1) => add(key(of), by) }
    },
    gauge: (name, _help, labels) => {
      const key = declare(name, labels)
      return {
        set: (value, of) => {
          values.set(key(of), value)
        },
      }
    },
    histogram: (name, _help, _buckets, labels) => {
      const key = declare(name, labels)
      return { observe: (_value, of) => add(key(of), 1) }
    },
  }
}

function seriesKey(name: string, labels: Labels): string {
  return JSON.stringify([name, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))])
}
