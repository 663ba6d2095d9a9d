import {
  type Db,
  type Migration,
  type Peering,
  type Plugin,
  peeringRef,
  type Reader,
  type RecordedSession,
  type SessionHistory,
  sessionHistoryRef,
  type Tx,
  type UsageIncrement,
  type UsageLedger,
  type UsageListener,
  type UsageTotals,
  usageLedgerRef,
  usageListenerRef,
} from '@steeple/contracts'
import type { InlinePlugin } from '@steeple/testkit'

const DAY_MS = 86_400_000

/** The table of the ledger that tests count in. */
export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_row',
    up: [
      `create table test_ledger_row (imsi text not null, source text not null, at_ms bigint not null,
        up_bytes bigint not null, down_bytes bigint not null, is_incomplete integer not null)`,
      'create index test_ledger_row_imsi on test_ledger_row (imsi, at_ms)',
    ],
  },
]

/** A ledger in which every source counts, with a way to count. */
export interface TestLedger extends UsageLedger {
  /** Counts in one commit, and has the listener count along. */
  count(increments: readonly UsageIncrement[]): Promise<void>
  /** What `knownUntil` says. */
  known: ReturnType<UsageLedger['knownUntil']>
  readonly sessions: RecordedSession[]
  /** Members of the mesh, and the addresses of phones behind them. */
  readonly behind: Map<string, string>
}

/** A ledger over a store handle. */
export function testLedger(db: Db, listener: () => UsageListener | undefined): TestLedger {
  const rowsOf = async (
    reader: Reader,
    imsi: string,
    fromMs: number,
    toMs: number,
  ): Promise<readonly Row[]> =>
    await reader.all<Row>(
      `select source, at_ms, up_bytes, down_bytes, is_incomplete from test_ledger_row
        where imsi = :imsi and at_ms >= :from_ms and at_ms < :to_ms order by at_ms`,
      { imsi, from_ms: fromMs, to_ms: toMs },
    )
  const add = async (tx: Tx, increments: readonly UsageIncrement[]): Promise<void> => {
    const own = db.join(tx)
    for (const { imsi, source, fromMs, upBytes, downBytes, isIncomplete } of increments)
      await own.run(
        `insert into test_ledger_row (imsi, source, at_ms, up_bytes, down_bytes, is_incomplete)
          values (:imsi, :source, :at_ms, :up, :down, :lost)`,
        { imsi, source, at_ms: fromMs, up: upBytes, down: downBytes, lost: isIncomplete ? 1 : 0 },
      )
    await listener()?.counted(tx, increments)
  }
  const ledger: TestLedger = {
    known: { atMs: undefined, reason: undefined },
    sessions: [],
    behind: new Map(),
    count: (increments) => db.write((tx) => add(tx, increments)),
    totals: async (imsi, fromMs, toMs) => totalsOf(await rowsOf(db, imsi, fromMs, toMs)),
    totalsIn: async (tx, imsi, fromMs, toMs) => totalsOf(await rowsOf(db.join(tx), imsi, fromMs, toMs)),
    sums: async (imsis, fromMs, toMs, tx) => {
      const reader = tx === undefined ? db : db.join(tx)
      const all = imsis.map(async (imsi) => {
        const { upBytes, downBytes } = sum(await rowsOf(reader, imsi, fromMs, toMs))
        return [imsi, upBytes + downBytes] as const
      })
      return new Map(await Promise.all(all))
    },
    series: async (imsi, fromMs, toMs, step) => {
      const lengthMs = step === 'day' ? DAY_MS : DAY_MS / 24
      const byStep = Map.groupBy(await rowsOf(db, imsi, fromMs, toMs), ({ at_ms }) =>
        Math.floor(at_ms / lengthMs),
      )
      return [...byStep].map(([at, rows]) => ({ atMs: at * lengthMs, ...sum(rows) }))
    },
    submit: (tx, imsi, source, totals, atMs) =>
      add(tx, [{ imsi, source, ...totals, fromMs: atMs, toMs: atMs }]),
    knownUntil: () => ledger.known,
  }
  return ledger
}

interface Row {
  readonly source: string
  readonly at_ms: number
  readonly up_bytes: number
  readonly down_bytes: number
  readonly is_incomplete: number
}

function totalsOf(
  rows: readonly Row[],
): UsageTotals & { readonly bySource: ReadonlyMap<string, UsageTotals> } {
  const bySource = Map.groupBy(rows, ({ source }) => source)
  return { ...sum(rows), bySource: new Map([...bySource].map(([source, own]) => [source, sum(own)])) }
}

function sum(rows: readonly Row[]): UsageTotals {
  return {
    upBytes: rows.reduce((bytes, row) => bytes + row.up_bytes, 0),
    downBytes: rows.reduce((bytes, row) => bytes + row.down_bytes, 0),
    isIncomplete: rows.some(({ is_incomplete }) => is_incomplete === 1),
  }
}

/** The ledger as a plugin; `made` gets it once it is set up. */
export function ledgerPlugin(made: (ledger: TestLedger) => void): InlinePlugin {
  const plugin: Plugin = {
    migrations: LEDGER_MIGRATIONS,
    setup: async (context) => {
      const ledger = testLedger(context.db, () => context.maybe(usageListenerRef))
      made(ledger)
      const history: Pick<SessionHistory, 'of'> = {
        of: async (imsi, { fromMs, toMs }) =>
          ledger.sessions.filter(
            (one) => one.imsi === imsi && one.startedAtMs < toMs && (one.endedAtMs ?? toMs) >= fromMs,
          ),
      }
      const mesh: Pick<Peering, 'carries'> = {
        carries: async (nodeId, address) => ledger.behind.get(nodeId) === address,
      }
      const none = async (): Promise<never> => Promise.reject(new Error('not asked for here'))
      return {
        services: new Map<string, object>([
          [usageLedgerRef.id, ledger],
          [sessionHistoryRef.id, { ...history, page: none }],
          [peeringRef.id, { ...mesh, state: none }],
        ]),
      }
    },
  }
  return {
    name: '@example/test-ledger',
    version: '1.0.0',
    plugin,
    manifest: {
      id: 'test-ledger',
      kind: 'feature',
      contracts: '*',
      config_path: 'test_ledger',
      provides: [usageLedgerRef.id, sessionHistoryRef.id, peeringRef.id],
      handover: 'overlap',
    },
  }
}
