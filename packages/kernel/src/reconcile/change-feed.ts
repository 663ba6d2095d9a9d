import type { Log } from '@steeple/contracts'
import type { CommitGroup, SideConnection, WriterTx } from '@steeple/store'
import type { Timers } from '../clock/deadline.ts'

/** Tells this instance what others have committed, and the others what this one has. */
export interface ChangeFeed {
  /** Has the commit of `tx` wake the other instances. */
  announce(tx: WriterTx): Promise<void>
  /** Looks now and then, and whenever another instance says so, until `close`. */
  start(): Promise<void>
  close(): void
}

/** What a feed needs. */
export interface ChangeFeedOptions {
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
export function createChangeFeed({ side, timers, log, grown, wanted }: ChangeFeedOptions): ChangeFeed {
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
