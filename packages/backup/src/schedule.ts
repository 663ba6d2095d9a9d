import { createReadStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type ComponentHealth,
  msFromDuration,
  nodeIdentityRef,
  syncFolder,
  systemPrincipal,
  timestampFromMs,
  writeNewFile,
} from '@steeple/contracts'
import { readState } from './archive-process.ts'
import type { BackupParts } from './parts.ts'
import { passphraseFrom } from './passphrase.ts'
import { auditBackup, backupName, takeBackup, takenAt } from './take.ts'

/** A backup that is so many intervals late is reported. */
const LATE_INTERVALS = 2
const DRAFT = '.part'

export interface Schedule {
  /** How often it is looked whether one is due, ms; undefined: never, there is no schedule. */
  readonly lookEveryMs: number | undefined
  /** Takes one when it is due. */
  run(signal: AbortSignal): Promise<void>
  health(): Promise<readonly ComponentHealth[]>
}

interface Kept {
  readonly name: string
  readonly takenAtMs: number
}

/** The schedule of the configuration. When one is due is read from the names of those that are there. */
export function createSchedule(parts: BackupParts): Schedule {
  const { context, count } = parts
  const { schedule, keep, directory } = context.config
  const everyMs = schedule === '' ? undefined : msFromDuration(schedule)
  const folder = resolve(directory === '' ? join(context.settings.server.data_dir, 'backups') : directory)
  let trouble: string | undefined

  const ours = (): Promise<readonly Kept[]> =>
    keptIn(folder, context.use(nodeIdentityRef).name, context.clock.nowMs())
  const look = async (): Promise<readonly Kept[]> => {
    const kept = await ours()
    const [newest] = kept
    if (newest !== undefined) {
      count.lastS.set(newest.takenAtMs / 1_000)
      count.lastBytes.set((await stat(join(folder, newest.name))).size)
    }
    return kept
  }
  const take = async (signal: AbortSignal): Promise<void> => {
    const text = await context.secret('passphrase')
    const passphrase = text === undefined ? undefined : passphraseFrom(text)
    const isEncrypted = passphrase !== undefined
    await auditBackup(context, systemPrincipal('backup'), { encrypted: isEncrypted, keys: isEncrypted })
    const { name: node } = context.use(nodeIdentityRef)
    const name = backupName(node, context.clock.nowMs(), isEncrypted)
    const draft = join(folder, name + DRAFT)
    try {
      await writeNewFile(draft, takeBackup(context, passphrase, signal))
      // What cannot be read back is no backup.
      await readState(createReadStream(draft), passphrase, signal)
      await rename(draft, join(folder, name))
      await syncFolder(folder)
    } finally {
      await rm(draft, { force: true })
    }
    context.log.info({ file: join(folder, name) }, 'backup taken and checked')
    for (const old of (await look()).slice(keep)) await rm(join(folder, old.name), { force: true })
  }

  return {
    lookEveryMs: everyMs === undefined ? undefined : Math.min(everyMs, 60_000),
    run: async (signal) => {
      // By a clock that leapt everything is due, or nothing.
      if (everyMs === undefined || context.clock.doubt?.() !== undefined) return
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await removeDrafts(folder, context.use(nodeIdentityRef).name)
        const [newest] = await look()
        if (newest !== undefined && context.clock.nowMs() - newest.takenAtMs < everyMs) {
          trouble = undefined
          return
        }
        await take(signal)
        trouble = undefined
        count.taken.inc({ to: 'schedule' })
      } catch (error) {
        if (signal.aborted) return
        trouble = error instanceof Error ? error.message : String(error)
        count.failed.inc({ to: 'schedule' })
        context.log.error({ err: error, folder }, 'the scheduled backup was not taken')
      }
    },
    health: async () => {
      if (everyMs === undefined) return []
      const [newest] = await ours()
      const lateMs = newest === undefined ? 0 : context.clock.nowMs() - newest.takenAtMs
      const isLate = lateMs > LATE_INTERVALS * everyMs
      const last = newest === undefined ? 'none yet' : timestampFromMs(newest.takenAtMs)
      const detail = trouble ?? (isLate ? `the newest backup is of ${last}` : `newest backup: ${last}`)
      const status = trouble === undefined && !isLate ? 'ok' : 'degraded'
      return [{ name: 'backup', kind: 'feature', status, detail, incident: 'backup_overdue' }]
    },
  }
}

/**
 * The backups of this node in a folder, the newest first. What another node, or anybody else, has put there is not ours to
 * count or to remove; nor is one from the future, which a wrong clock has named: it would keep every later one from being taken.
 */
async function keptIn(folder: string, node: string, nowMs: number): Promise<readonly Kept[]> {
  return (await namesIn(folder))
    .flatMap((name) => {
      const takenAtMs = takenAt(name, node)
      return takenAtMs === undefined || takenAtMs > nowMs ? [] : [{ name, takenAtMs }]
    })
    .toSorted((one, other) => other.takenAtMs - one.takenAtMs)
}

/** Of backups that were cut off. */
async function removeDrafts(folder: string, node: string): Promise<void> {
  for (const name of await namesIn(folder))
    if (name.endsWith(DRAFT) && takenAt(name.slice(0, -DRAFT.length), node) !== undefined)
      await rm(join(folder, name), { force: true })
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
