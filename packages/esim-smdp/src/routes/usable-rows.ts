import { ESIM_CODE } from '../codes/restored.ts'
import type { EsimParts } from '../parts.ts'
import { AT_ONCE, printableCodes } from '../store/code-queries.ts'
import { providedOf } from '../store/provider-store.ts'
import type { CodeRow } from '../store/rows.ts'

/** Those that a phone can use now: no restore has closed them, and while eSIM is off those of providers alone. */
export async function usableOf(
  { closed, context }: Pick<EsimParts, 'closed' | 'context'>,
  rows: readonly CodeRow[],
): Promise<readonly CodeRow[]> {
  const tokens = rows.map(({ token }) => token)
  const gone = await closed.among(ESIM_CODE, tokens)
  const open = rows.filter(({ token }) => !gone.has(token))
  if (context.config.enabled) return open
  const provided = await providedOf(context.db, tokens)
  return open.filter(({ token }) => provided.has(token))
}

/** The codes of a batch that a phone can use now, some at a time, none of them empty. */
export async function* usableRows(
  parts: Pick<EsimParts, 'closed' | 'context'>,
  batch: string,
  perPage: number = AT_ONCE,
): AsyncGenerator<readonly CodeRow[], undefined> {
  for (let after = ''; ; ) {
    const rows = await printableCodes(parts.context.db, batch, after, perPage)
    const usable = await usableOf(parts, rows)
    if (usable.length > 0) yield usable
    const last = rows.at(-1)
    if (rows.length < perPage || last === undefined) return undefined
    after = last.token
  }
}
