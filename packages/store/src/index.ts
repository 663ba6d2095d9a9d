export { CLOSED, CLOSED_DDL, closedItems, closeItems } from './closed-items.ts'
export type { CommitGroup, Database, SideConnection, StoreMigration, WriterTx } from './database.ts'
export { leaveOut } from './leave-out.ts'
export { openDatabase, type StoreOptions } from './open.ts'
export { loadPostgres, type PostgresLoad } from './postgres-load.ts'
export {
  fullPace,
  gentlePace,
  type IntegrityProblem,
  type IntegrityReport,
  type ScanMemory,
  type ScanOptions,
  type ScanPace,
  type ScanPosition,
  type ScanState,
  scanIntegrity,
  scanMemory,
} from './scan-memory.ts'
export { openSqliteConnection, type SqliteConnection, type SqliteStatement } from './sqlite-binding.ts'
export type { StoreCopy } from './sqlite-copy.ts'
export {
  asFullDisk,
  COMING,
  checkRoom,
  checkStateName,
  filesBelow,
  isRestorePending,
  KEYS_FOLDER,
  linkOrCopy,
  PENDING,
  PLAN,
  PLUGINS_FOLDER,
  type RestorePlan,
  readPlan,
  STAGING,
  STORE_FILE,
  stampOf,
  syncFoldersBelow,
  writeStateFile,
} from './state-files.ts'
export { isOtherSchema, sqliteError } from './store-error.ts'
export { acceptLoss } from './wal-check.ts'
export { limitedTx, type SqlGuard, sqlGuard } from './writer.ts'
