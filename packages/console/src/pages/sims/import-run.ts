import type { AnswerOf, Problem } from '@steeple/client'
import { api } from '../../api/client.ts'

type Answer = AnswerOf<'POST', '/v1/sims/import'>

/** What became of one row of a file. */
export type ImportResult = Answer['results'][number]

/** What an import, or its rehearsal, has come to. */
export interface ImportOutcome {
  readonly answer: Answer | undefined
  /** Why there is none; what is in stays in. */
  readonly error: Problem | undefined
}

/** How it is done. */
export interface ImportOptions {
  readonly isDry: boolean
  /** All rows or none. */
  readonly isAtomic: boolean
  /** For every row that has none. */
  readonly label: string
}

const LIMIT_MS = 600_000

/**
 * Imports a file as it is: the service reads its encoding and its form. What was imported before an error is told as existing
 * when the same file comes again, so nothing is lost and nothing is doubled.
 */
export async function runImport(
  content: Blob,
  { isDry, isAtomic, label }: ImportOptions,
): Promise<ImportOutcome> {
  const answer = await api.post('/v1/sims/import', {
    query: {
      ...(isDry ? { dry_run: true } : {}),
      ...(isAtomic ? { atomic: true } : {}),
      ...(label === '' ? {} : { label }),
    },
    body: { type: 'text/csv', content },
    timeoutMs: LIMIT_MS,
  })
  return answer.ok ? { answer: answer.data, error: undefined } : { answer: undefined, error: answer.error }
}

/** What stands before the first row, and the rows that were refused, to be put right and imported again. */
export function refusedRows(csv: string, results: readonly ImportResult[]): string {
  const all = csv.split(/\r?\n/)
  const head = all.slice(0, (results[0]?.line ?? 2) - 1)
  const refused = results
    .filter(({ status }) => status === 'error' || status === 'not_imported')
    .map(({ line }) => all[(line ?? 0) - 1] ?? '')
  return `${[...head, ...refused].join('\n')}\n`
}

/** The text of a file in UTF-8 or, with a byte order mark, UTF-16. */
export async function textOf(file: Blob): Promise<string> {
  const octets = await file.arrayBuffer()
  const [first, second] = new Uint8Array(octets)
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  return new TextDecoder(isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(octets)
}
