import { hash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { element, fileBytes, type ModelRecord, type ModelReport, recordBytes, reportBytes } from './encode.ts'

/** How a model CHF differs from the newest one. */
export interface ModelOptions {
  /** `supi` is how releases up to 4.2.1 name files; these write each report into the record that the subscriber opened last. */
  readonly names?: 'digest' | 'supi'
  /** The id of the instance; another one after each start when it is left out. */
  readonly fixedId?: string
  /** The size from which on a record is split. */
  readonly splitBytes?: number
  /** Whether it deletes its files when it ends in order. */
  readonly cleansUp?: boolean
}

/** A CHF that writes its files as free5GC's does, by what was observed of it. */
export interface ModelChf {
  /** Opens a record; nothing is written. */
  create(imsi: string, dnn?: string): string
  /** Adds a report and writes all records of the subscriber. False when it has no such session. */
  update(session: string, report: ModelReport): boolean
  /** As `update`, and closes a partial record: its file is written twice. */
  partial(session: string, report: ModelReport): boolean
  /** Adds a report and writes the last fragment of this session alone. */
  release(session: string, report: ModelReport): boolean
  crash(): void
  /** Ends in order and comes back. */
  restart(): void
  /** What each file shows now, by IMSI. */
  readonly shown: ReadonlyMap<string, readonly ModelRecord[]>
  fileOf(imsi: string): string
}

const SPLIT = 65_535

/** One with an empty directory. */
export function modelChf(dir: string, nowMs: () => number, options: ModelOptions = {}): ModelChf {
  const { names = 'digest', fixedId, splitBytes = SPLIT, cleansUp = false } = options
  let starts = 0
  let opened = 0
  let writer = ''
  const shown = new Map<string, readonly ModelRecord[]>()
  /** By IMSI, all since the start; by session, its last fragment. */
  const records = new Map<string, ModelRecord[]>()
  const sessions = new Map<string, ModelRecord>()
  const fileOf = (imsi: string): string =>
    join(dir, names === 'supi' ? `imsi-${imsi}.cdr` : `chf-${hash('sha256', `imsi-${imsi}`)}.cdr`)
  const write = (imsi: string, list: readonly ModelRecord[]): void => {
    writeFileSync(fileOf(imsi), fileBytes(list.map(recordBytes)))
    shown.set(
      imsi,
      list.map((record) => ({ ...record, reports: [...record.reports] })),
    )
  }
  const start = (): void => {
    starts += 1
    opened = 0
    writer = fixedId ?? `${hash('md5', `${dir} ${starts}`)}`
    records.clear()
    sessions.clear()
  }
  const isShared = names === 'supi'
  const add = (session: string, report: ModelReport): ModelRecord | undefined => {
    const own = sessions.get(session)
    const record = isShared ? records.get(own?.imsi ?? '')?.at(-1) : own
    if (record === undefined) return undefined
    // The CHF adds the size of the record to that of the list of what comes.
    if (recordBytes(record).length + element(0x30, reportBytes(report)).length <= splitBytes) {
      record.reports.push(report)
      return record
    }
    const next = { ...record, reports: [report] }
    if (!isShared) sessions.set(session, next)
    records.get(record.imsi)?.push(next)
    return next
  }
  const writeAll = (imsi: string): void => write(imsi, records.get(imsi) ?? [])
  start()
  return {
    shown,
    fileOf,
    create: (imsi, dnn = 'internet') => {
      const session = `imsi-${imsi}SMF${opened}`
      opened += 1
      const record = { imsi, writer, session, number: opened, openedMs: nowMs(), dnn, reports: [] }
      sessions.set(session, record)
      records.set(imsi, [...(records.get(imsi) ?? []), record])
      return session
    },
    update: (session, report) => {
      const record = add(session, report)
      if (record !== undefined) writeAll(record.imsi)
      return record !== undefined
    },
    partial: (session, report) => {
      const record = add(session, report)
      if (record === undefined) return false
      record.isPartial = true
      write(record.imsi, [record])
      writeAll(record.imsi)
      return true
    },
    release: (session, report) => {
      const record = sessions.get(session)
      if (record === undefined) return false
      record.reports.push(report)
      write(record.imsi, [record])
      return true
    },
    crash: start,
    restart: () => {
      if (cleansUp) {
        for (const imsi of shown.keys()) rmSync(fileOf(imsi), { force: true })
        shown.clear()
      }
      start()
    },
  }
}
