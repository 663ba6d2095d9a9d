export { COLUMN_NAMES, cellsOf, plainCell } from './csv.ts'
export type { Manifest } from './manifest.ts'
export { writeFile } from './manifest.ts'
export { type FileFindings, verifyFile } from './verify.ts'
