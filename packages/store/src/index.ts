export { CLOSED, CLOSED_DDL, closedItems, closeItems } from './closed-items.ts'
export type { CommitGroup, Database, SideConnection, StoreMigration, WriterTx } from './database.ts'
export { openDatabase } from './open.ts'
export { loadPostgres } from './postgres-copy.ts'
export {
  fullPace,
  gentlePace,
  type IntegrityProblem,
  type ScanMemory,
  type ScanPace,
  type ScanPosition,
  scanIntegrity,
  scanMemory,
} from './scan-memory.ts'
export { openSqliteConnection } from './sqlite-binding.ts'
export {
  asFullDisk,
  COMING,
  checkRoom,
  checkStateName,
  filesBelow,
  isRestorePending,
  KEYS_FOLDER,
  leaveOut,
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
export { DISK_IS_FULL, isOtherSchema, sqliteError } from './store-error.ts'
export { acceptLoss } from './wal-check.ts'
export { limitedTx, type SqlGuard, sqlGuard } from './writer.ts'
