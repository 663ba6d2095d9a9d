import { hkdfSync, randomUUID } from 'node:crypto'
import {
  type ComponentHealth,
  type InstanceView,
  type Log,
  notReady,
  type RunsOn,
  type Settings,
  storeInvalid,
  type TraceParent,
} from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import type { CommitGroup, Database, SideConnection, WriterTx } from '@steeple/store'
import type { Machine } from '../clock/clock-keeper.ts'
import type { Timers } from '../clock/deadline.ts'
import type { KernelMetrics } from '../telemetry/metrics.ts'
import { epochOf, joinElection } from './election.ts'
import {
  aloneLeadership,
  currentTerm,
  inTerm,
  isMachine,
  lostWords,
  type Placement,
  placementOf,
} from './leadership.ts'

/** A key that a reconciler should look at. */
export interface WantedKey {
  readonly resource: string
  readonly key: string
  /** Before all that is not. */
  readonly isUrgent?: boolean
  /** In which trace it was asked for. */
  readonly trace?: TraceParent | undefined
}

/** Keys that one instance leaves for the one that reconciles them. */
export interface WantedKeys {
  /** In the transaction that made them dirty: they are left when and only when it commits. */
  leave(tx: WriterTx, keys: readonly WantedKey[]): Promise<void>
  /** Leaves a key soon, in a transaction that many share. One that cannot be left is found by the next full look. */
  send(key: WantedKey): void
  /** Takes all of the resources that `runs` says yes to and gives them to `found`. */
  take(runs: (resource: string) => boolean, found: (key: WantedKey) => void): Promise<void>
}

interface WantedRow {
  readonly id: string
  readonly keys: string
}

/** The text of a row: keys of one resource that were asked for in one trace. */
interface WantedText {
  readonly keys: readonly string[]
  readonly isUrgent: boolean
  /** None of an instance that makes no traces. */
  readonly trace?: TraceParent | undefined
}

/** Rows taken in one transaction. */
const TAKEN_AT_ONCE = 100

const INSERT = 'insert into kernel_wanted (id, resource, keys, at_ms) values (:id, :resource, :keys, :at_ms)'
const RESOURCES = 'select resource, min(at_ms) as oldest_ms from kernel_wanted group by resource'
const LIST = `select id, keys from kernel_wanted where resource = :resource order by at_ms limit ${TAKEN_AT_ONCE}`
const REMOVE = 'delete from kernel_wanted where id = :id'
const REMOVE_OLD = 'delete from kernel_wanted where at_ms < :before'
/** What nobody took for so long is found by the next full look of whoever comes. */
const KEPT_MS = 600_000

/** What the keys need of the kernel. `announce` wakes the others at the commit. */
interface WantedKeysOptions {
  readonly db: Pick<Database, 'transact' | 'all'>
  readonly nowMs: () => number
  readonly announce: (tx: WriterTx) => Promise<void>
  readonly log: Log
}

export function createWantedKeys({ db, nowMs, announce, log }: WantedKeysOptions): WantedKeys {
  let unsent: WantedKey[] = []

  const leave = async (tx: WriterTx, wanted: readonly WantedKey[]): Promise<void> => {
    for (const { resource, keys, isUrgent, trace } of rowsOf(wanted)) {
      const text: WantedText = { keys, isUrgent, trace }
      await tx.run(INSERT, { id: randomUUID(), resource, keys: JSON.stringify(text), at_ms: nowMs() })
    }
    await announce(tx)
  }

  const takeOf = async (resource: string, found: (key: WantedKey) => void): Promise<void> => {
    let rows: readonly WantedRow[]
    do {
      rows = await db.all<WantedRow>(LIST, { resource })
      await db.transact(async (tx) => {
        for (const { id } of rows) await tx.run(REMOVE, { id })
      })
      for (const row of rows) {
        // Written by `leave` alone.
        const { keys, isUrgent, trace } = JSON.parse(row.keys) as WantedText
        for (const key of keys) found({ resource, key, isUrgent, trace })
      }
    } while (rows.length === TAKEN_AT_ONCE)
  }

  return {
    leave,
    send: (key) => {
      unsent.push(key)
      if (unsent.length > 1) return
      queueMicrotask(() => {
        const keys = unsent
        unsent = []
        db.transact((tx) => leave(tx, keys)).catch((error: unknown) => {
          log.warn({ err: error, count: keys.length }, 'keys could not be left for the leader')
        })
      })
    },
    take: async (runs, found) => {
      const waiting = await db.all<{ resource: string; oldest_ms: number }>(RESOURCES)
      for (const { resource } of waiting) if (runs(resource)) await takeOf(resource, found)
      // Also those of resources that run nowhere: nobody takes them.
      const before = nowMs() - KEPT_MS
      if (waiting.some(({ oldest_ms }) => oldest_ms < before))
        await db.transact((tx) => tx.run(REMOVE_OLD, { before }))
    },
  }
}

/** One row for each resource, trace and urgency; urgent ones first. */
function rowsOf(wanted: readonly WantedKey[]): readonly (WantedText & { readonly resource: string })[] {
  return [true, false].flatMap((isUrgent) => {
    const those = wanted.filter((each) => (each.isUrgent ?? false) === isUrgent)
    return [...Map.groupBy(those, ({ resource }) => resource)].flatMap(([resource, ofIt]) =>
      [...Map.groupBy(ofIt, ({ trace }) => trace)].map(([trace, found]) => ({
        resource,
        keys: [...new Set(found.map(({ key }) => key))],
        isUrgent,
        trace,
      })),
    )
  })
}

/** Shared by all schemas of a database: who is woken for nothing looks once. */
const CHANNEL = 'svc_changes'
const ANNOUNCE = 'select pg_notify(:channel, :text)'
const LOOK = `select (select coalesce(max(id), 0) from kernel_outbox) as newest,
  (select count(*) from kernel_wanted) as wanted`
/** Where nobody is notified, others are found at this pace. */
const POLL_MS = 500
/** Where notifications come: what is said while there is no connection is lost. */
const SELDOM_MS = 2_000

/**
 * Tells this instance what others have committed, and the others what this one has: by NOTIFY where the server has it. `grown`: the outbox
 * has grown since the last look. `wanted`: keys wait that another instance has left.
 */
function createChangeFeed(
  { timers, log }: Pick<ClusterOptions, 'timers' | 'log'>,
  side: SideConnection,
  { grown, wanted }: { grown(): void; wanted(): Promise<void> },
) {
  const announced = new WeakSet<CommitGroup>()
  let hasNotify = false
  let newest: number | undefined
  let timer: unknown
  let isClosed = false
  let isLooking = false
  let isAgain = false

  const lookOnce = async (): Promise<void> => {
    const row = (await side.all<{ newest: number; wanted: number }>(LOOK))[0]
    if (row === undefined) return
    // At first too: nobody was told of what came between the start of this instance and now.
    const hasGrown = row.newest !== newest
    newest = row.newest
    if (hasGrown) grown()
    if (row.wanted > 0) await wanted()
  }
  const look = async (): Promise<void> => {
    isAgain = true
    if (isLooking) return
    isLooking = true
    while (isAgain && !isClosed) {
      isAgain = false
      try {
        await lookOnce()
      } catch (error) {
        log.debug({ err: error }, 'changes of other instances could not be looked for')
      }
    }
    isLooking = false
  }
  const plan = (): void => {
    if (isClosed) return
    timer = timers.setTimeout(() => void look().then(plan), hasNotify ? SELDOM_MS : POLL_MS)
  }

  return {
    /** Has the commit of `tx` wake the other instances. */
    announce: async (tx: WriterTx): Promise<void> => {
      if (!hasNotify || announced.has(tx.group)) return
      announced.add(tx.group)
      tx.group.beforeCommit(async (last) => {
        await last.all(ANNOUNCE, { channel: CHANNEL, text: '' })
      })
    },
    /** Looks now and then, and whenever another instance says so, until `close`. */
    start: async (): Promise<void> => {
      try {
        await side.listen(CHANNEL, () => void look())
        hasNotify = true
      } catch (error) {
        log.info({ reason: String(error) }, 'no notifications from this database: changes are looked for')
      }
      await look()
      plan()
    },
    close: (): void => {
      isClosed = true
      timers.clearTimeout(timer)
    },
  }
}

/** What the mutation path does in its transaction for the other instances. */
export interface SharedStore {
  /** Has the commit wake them. */
  announce(tx: WriterTx): Promise<void>
  /** Leaves those keys to them that this instance will not look at. */
  leave(tx: WriterTx, keys: readonly WantedKey[]): Promise<void>
}

/** What of the kernel hears of the other instances. */
interface ClusterListeners {
  readonly reconciler: {
    follow(): Promise<void>
    placeOf(resource: string): RunsOn | undefined
    enqueue(resource: string, key: string, isUrgent?: boolean, trace?: TraceParent): void
  }
  readonly outbox: { committed(): void }
}

/** This instance among those that share its store. */
interface Cluster {
  readonly placement: Placement
  /** Undefined where nobody else has the store. */
  readonly shared: SharedStore | undefined
  view(): InstanceView
  /** Runs after each beginning and end of a term of this instance. */
  onTerm(listener: () => void): void
  /** Leaves a key to the instance that reconciles it. */
  send(key: WantedKey): void
  /** From now on the listeners hear of others and of the beginning and end of terms. */
  follow(listeners: ClusterListeners): Promise<void>
  close(): Promise<void>
}

interface ClusterOptions {
  readonly db: Database
  readonly epochIn: EpochReader
  readonly settings: Settings
  readonly machine: Machine
  readonly timers: Timers
  readonly log: Log
  readonly nowMs: () => number
  readonly secrets: Pick<Secrets, 'auditKey' | 'jwtKey' | 'identity'>
}

/** Joins the instances of a store; alone on SQLite. Throws `store_invalid`, `store_unavailable`. */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  const { db, settings } = options
  const { instance, machine } = settings.cluster
  if (db.side === undefined && (instance !== '' || machine !== ''))
    throw storeInvalid(
      'several instances share a PostgreSQL (store.url); with SQLite leave cluster.instance and cluster.machine empty',
    )
  return db.side === undefined ? alone(settings) : await amongOthers(options, db.side)
}

/** Says nothing of the keys and differs when one of them does. */
function fingerprint({ auditKey, jwtKey, identity }: ClusterOptions['secrets']): string {
  const salt = Buffer.from(hkdfSync('sha256', jwtKey, identity.nodeId, 'svc instance', 32))
  return Buffer.from(hkdfSync('sha256', auditKey, salt, 'svc instance', 32)).toString('hex')
}

function alone(settings: Settings): Cluster {
  const leadership = aloneLeadership(settings.cluster.instance)
  return {
    placement: placementOf(leadership, settings),
    shared: undefined,
    view: () => ({ ...leadership.view(), isMachine: true }),
    onTerm: () => undefined,
    send: () => undefined,
    follow: async () => undefined,
    close: async () => undefined,
  }
}

async function amongOthers(
  { db, epochIn, settings, machine, timers, log, nowMs, secrets }: ClusterOptions,
  side: NonNullable<Database['side']>,
): Promise<Cluster> {
  const name = settings.cluster.instance
  const leadership = await joinElection({ db, side, machine, timers, log, name, keys: fingerprint(secrets) })
  const placement = placementOf(leadership, settings)
  const runsHere = (place: RunsOn | undefined): boolean => place !== undefined && placement.runsHere(place)
  let listeners: ClusterListeners | undefined
  const takeWanted = async (): Promise<void> => {
    const heard = listeners?.reconciler
    if (heard === undefined) return
    const take = () =>
      wanted.take(
        (resource) => runsHere(heard.placeOf(resource)),
        ({ resource, key, isUrgent, trace }) => heard.enqueue(resource, key, isUrgent, trace),
      )
    const term = leadership.term()
    // In its name: one that leads no longer takes nothing away.
    await (term === undefined ? take() : inTerm(term, take))
  }
  const grown = (): void => listeners?.outbox.committed()
  const { announce, start, close } = createChangeFeed({ timers, log }, side, { grown, wanted: takeWanted })
  const wanted = createWantedKeys({ db, nowMs, announce, log })
  return {
    placement,
    shared: {
      announce,
      leave: async (tx, keys) => {
        // Of this epoch until the commit: whoever leads after it looks at all keys.
        const isLeader = (await epochIn(tx)) === leadership.term()?.epoch
        const left = keys.filter(({ resource }) => {
          const place = listeners?.reconciler.placeOf(resource)
          return place === 'leader' ? !isLeader : !runsHere(place)
        })
        if (left.length > 0) await wanted.leave(tx, left)
      },
    },
    view: () => ({ ...leadership.view(), isMachine: isMachine(settings) }),
    onTerm: (listener) => leadership.onChange(listener),
    send: (key) => wanted.send(key),
    follow: async (heard) => {
      listeners = heard
      leadership.onChange(() => void heard.reconciler.follow())
      await heard.reconciler.follow()
      await start()
    },
    close: async () => {
      close()
      await leadership.close()
    },
  }
}

/** Who leads, as a component; none where the store belongs to this process. */
export function clusterHealth({ name, role, leader, epoch }: InstanceView): readonly ComponentHealth[] {
  if (role === 'alone') return []
  const who = role === 'leader' ? 'it leads' : leader === undefined ? 'nobody leads' : `${leader} leads`
  return [
    {
      name: 'cluster',
      kind: 'feature',
      status: role === 'follower' && leader === undefined ? 'degraded' : 'ok',
      detail: `this is ${name || 'the only instance'}; ${who} (epoch ${epoch})`,
    },
  ]
}

/** `svc_cluster_*`. */
export function observeCluster(metrics: KernelMetrics, view: () => InstanceView): void {
  metrics.observed('svc_cluster_leader', '1 while this instance leads, else 0', [], (set) =>
    set(view().role === 'follower' ? 0 : 1, {}),
  )
  metrics.observed(
    'svc_cluster_epoch',
    'Number of the present leader, as this instance knows it',
    [],
    (set) => set(view().epoch, {}),
  )
}

/** Reads the epoch that a transaction commits under, once for each commit. */
export type EpochReader = (tx: WriterTx) => Promise<number>

export function epochReader(): EpochReader {
  const known = new WeakMap<CommitGroup, number>()
  return async (tx) => {
    const found = known.get(tx.group)
    if (found !== undefined) return found
    const { epoch } = await epochOf(tx)
    known.set(tx.group, epoch)
    return epoch
  }
}

/** For the store: what is written in the name of a term is refused with `not_ready` once another one has begun. */
export function termGuard(epochIn: EpochReader): () => ((tx: WriterTx) => Promise<void>) | undefined {
  return () => {
    const term = currentTerm()
    if (term === undefined) return undefined
    return async (tx) => {
      if ((await epochIn(tx)) !== term.epoch) throw notReady(lostWords(term))
    }
  }
}
