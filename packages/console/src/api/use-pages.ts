import type { ItemOf, PagedPath, PathOf, Problem, RequestOf } from '@steeple/client'
import { useRows } from './use-rows.ts'

/** The rows of a list so far, as `Loaded` takes them. */
export interface Pages<Row> {
  readonly data: readonly Row[] | undefined
  readonly error: Problem | undefined
  readonly isLoading: boolean
  /** Reads the next page; absent when there is none. */
  readonly more: (() => void) | undefined
  readonly reload: () => void
}

type QueryOf<P extends PathOf<'GET'>> = NonNullable<
  RequestOf<'GET', P> extends { readonly query?: infer Query } ? Query : never
>

/** A list that comes in pages, newest first: the first one, and further ones on demand. All of it is read anew after events of the types in `on`. */
export function usePages<P extends PagedPath & PathOf<'GET'>>(
  path: P,
  query: QueryOf<P>,
  on: readonly string[] = [],
): Pages<ItemOf<P>> {
  const { rows, error, isLoading, isMore, more, reload } = useRows(path, query, {
    keyOf: JSON.stringify,
    onAll: on,
  })
  const isKnown = !isLoading && (error === undefined || rows.length > 0)
  return { data: isKnown ? rows : undefined, error, isLoading, more: isMore ? more : undefined, reload }
}
