import { hkdfSync } from 'node:crypto'
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
import { joinElection } from './election.ts'
import {
  aloneLeadership,
  currentTerm,
  inTerm,
  isMachine,
  lostWords,
  type Placement,
  placementOf,
} from './leadership.ts'
import { epochOf } from './lease-row.ts'
import { createWantedKeys, type WantedKey } from './wanted-keys.ts'

/** Tells this instance what others have committed, and the others what this one has. */
interface ChangeFeed {
  /** Has the commit of `tx` wake the other instances. */
  announce(tx: WriterTx): Promise<void>
  /** Looks now and then, and whenever another instance says so, until `close`. */
  start(): Promise<void>
  close(): void
}

/** What a feed needs. */
interface ChangeFeedOptions {
  readonly side: SideConnection
  readonly timers: Timers
  readonly log: Log
  /** The outbox has grown since the last look. */
  grown(): void
  /** Keys wait that another instance has left. */
  wanted(): Promise<void>
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

/** The feed of a store on PostgreSQL, by NOTIFY where the server has it. */
function createChangeFeed({ side, timers, log, grown, wanted }: ChangeFeedOptions): ChangeFeed {
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
    announce: async (tx) => {
      if (!hasNotify || announced.has(tx.group)) return
      announced.add(tx.group)
      tx.group.beforeCommit(async (last) => {
        await last.all(ANNOUNCE, { channel: CHANNEL, text: '' })
      })
    },
    start: async () => {
      try {
        await side.listen(CHANNEL, () => void look())
        hasNotify = true
      } catch (error) {
        log.info({ reason: String(error) }, 'no notifications from this database: changes are looked for')
      }
      await look()
      plan()
    },
    close: () => {
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
export interface ClusterListeners {
  readonly reconciler: {
    follow(): Promise<void>
    placeOf(resource: string): RunsOn | undefined
    enqueue(resource: string, key: string, isUrgent?: boolean, trace?: TraceParent): void
  }
  readonly outbox: { committed(): void }
}

/** This instance among those that share its store. */
export interface Cluster {
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

/** What joining takes. */
export interface ClusterOptions {
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
      'cluster.instance is set and the store is a file of this machine: several instances share a PostgreSQL ' +
        '(store.url); with SQLite leave cluster.instance and cluster.machine empty',
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
  const feed = createChangeFeed({
    side,
    timers,
    log,
    grown: () => listeners?.outbox.committed(),
    wanted: takeWanted,
  })
  const wanted = createWantedKeys({ db, nowMs, announce: (tx) => feed.announce(tx), log })
  return {
    placement,
    shared: {
      announce: (tx) => feed.announce(tx),
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
      await feed.start()
    },
    close: async () => {
      feed.close()
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

/** A reader of epochs. */
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
