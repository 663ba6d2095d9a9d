import type { AnswerOf, Problem } from '@steeple/client'
import { api } from '../../api/client.ts'

/** What became of one row of a file. */
export type ImportResult = AnswerOf<'POST', '/v1/sims/import'>['results'][number]

/** What an import, or its rehearsal, has come to so far. */
export interface ImportProgress {
  readonly results: readonly ImportResult[]
  readonly batches: readonly string[]
  /** Rows that were sent, of how many. */
  readonly sent: number
  readonly total: number
  /** Why it did not go on; what is in stays in. */
  readonly error: Problem | undefined
}

/** How it is done. */
export interface ImportOptions {
  readonly isDry: boolean
  /** All rows or none: one request, however many they are. */
  readonly isAtomic: boolean
  /** For every row that has none. */
  readonly label: string
}

/** Rows of one request of a large file: each gives a batch of its own, so a shelf of cards is one. */
const PART = 5_000
const LIMIT_MS = 600_000

/** Rows of a file, without the header and empty lines: no cell holds a line break. */
export function rowsOf(csv: string): number {
  return linesOf(csv).length
}

/**
 * Imports a file, part by part, from the row after `done` on. What was imported before an error is told as existing when the same file
 * comes again, so nothing is lost and nothing is doubled.
 */
export async function runImport(
  csv: string,
  { isDry, isAtomic, label }: ImportOptions,
  tell: (progress: ImportProgress) => void,
): Promise<ImportProgress> {
  const lines = linesOf(csv)
  const header = csv.split(/\r?\n/, 1)[0] ?? ''
  const size = isAtomic || isDry ? Math.max(1, lines.length) : PART
  let progress: ImportProgress = { results: [], batches: [], sent: 0, total: lines.length, error: undefined }
  do {
    tell(progress)
    const part = lines.slice(progress.sent, progress.sent + size)
    const answer = await api.post('/v1/sims/import', {
      query: {
        ...(isDry ? { dry_run: true } : {}),
        ...(isAtomic ? { atomic: true } : {}),
        ...(label === '' ? {} : { label }),
      },
      body: { type: 'text/csv', content: [header, ...part.map(({ text }) => text)].join('\n') },
      timeoutMs: LIMIT_MS,
    })
    if (!answer.ok) {
      progress = { ...progress, error: answer.error }
      break
    }
    progress = after(progress, answer.data, part)
  } while (progress.sent < progress.total)
  tell(progress)
  return progress
}

function after(
  { results, batches, sent, total }: ImportProgress,
  { results: fresh, batch_id: batch }: AnswerOf<'POST', '/v1/sims/import'>,
  part: readonly Line[],
): ImportProgress {
  // Rows and lines are those of the whole file.
  const placed = fresh.map((result) => ({
    ...result,
    row: result.row + sent,
    line: part[result.row - 1]?.place ?? result.line,
  }))
  return {
    results: [...results, ...placed],
    batches: batch === null ? batches : [...batches, batch],
    sent: sent + part.length,
    total,
    error: undefined,
  }
}

interface Line {
  /** From 1, as editors count. */
  readonly place: number
  readonly text: string
}

function linesOf(csv: string): readonly Line[] {
  return csv
    .split(/\r?\n/)
    .map((text, index) => ({ place: index + 1, text }))
    .slice(1)
    .filter(({ text }) => text.trim() !== '')
}

/** The header and the rows that were refused, to be put right and imported again. */
export function refusedRows(csv: string, results: readonly ImportResult[]): string {
  const all = csv.split(/\r?\n/)
  const refused = results
    .filter(({ status }) => status === 'error' || status === 'not_imported')
    .map(({ line }) => all[(line ?? 0) - 1] ?? '')
  return `${[all[0] ?? '', ...refused].join('\n')}\n`
}
