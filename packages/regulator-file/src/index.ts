export { COLUMN_NAMES, COLUMNS, type Column, type ExportRow } from './columns.ts'
export { cellsOf, csvLine, HEADER, plainCell, rowLine } from './csv.ts'
export {
  FORMAT,
  type Manifest,
  manifestFrom,
  manifestLine,
  type SignedManifest,
  signedText,
} from './manifest.ts'
export { type FileFindings, verifyFile } from './verify.ts'
export { type Closer, writeFile } from './write.ts'
