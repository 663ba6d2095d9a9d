import { existsSync } from 'node:fs'
import { type MemoryDb, memoryDb } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'

/** The tables of the plugin in a file, for a process that is killed: every commit is on the disk before it is answered. */
export function fileDb(path: string): MemoryDb {
  const db = memoryDb(existsSync(path) ? [] : MIGRATIONS, path)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  return db
}
