export { COLUMN_NAMES, cellsOf, plainCell } from './csv.ts'
export { type Manifest, writeFile } from './manifest.ts'
export { verifyFile } from './verify.ts'
