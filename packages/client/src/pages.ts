import { dataOf } from './problem.ts'
import type { Result } from './types.ts'

/** A page as any list answers it: one list, and where it goes on. */
interface Page {
  readonly next_cursor: string | null
}

/**
 * The rows of a list, page after page, of which the next is read when it is needed. `read` asks for the page behind a cursor. Throws as
 * `dataOf` when a page fails: what came before it has been given.
 */
export async function* rowsOf(
  read: (cursor: string | undefined) => Promise<Result<unknown>>,
): AsyncGenerator<unknown> {
  for (let cursor: string | undefined; ; ) {
    const page = dataOf(await read(cursor)) as Page
    for (const list of Object.values(page)) if (Array.isArray(list)) yield* list
    if (page.next_cursor === null) return
    cursor = page.next_cursor
  }
}
