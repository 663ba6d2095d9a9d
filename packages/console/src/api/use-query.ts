import type { AnswerOf, CodeOf, PathOf, Problem, RequestOf, Result } from '@steeple/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { toast } from '../ui/toast.tsx'
import { api } from './client.ts'
import { queryReader } from './query-reader.ts'
import { soonAfter } from './soon.ts'

/** What is known of a read. `data` stays while it is read anew, so nothing flickers. */
export interface Query<Data, Code extends string = string> {
  readonly data: Data | undefined
  readonly error: Problem<Code> | undefined
  /** Nothing has come yet. */
  readonly isLoading: boolean
  /** For `ifMatch` of a change, where the route has one. */
  readonly etag: string | undefined
  /** Reads it anew. */
  readonly reload: () => void
  /** The same; settles when that has come. */
  readonly reloaded: () => Promise<void>
}

/** When a read is repeated. */
export interface Repeat {
  /** Types of events that change it, `sim.*` for all of a noun. */
  readonly on?: readonly string[]
  /** Ms, for what no event tells of. Only while the page is looked at. */
  readonly everyMs?: number
}

/** Calls any operation of a method, typed by path; for parts that are given a path. */
function read<P extends PathOf<'GET'>>(
  path: P,
  request: object,
): Promise<Result<AnswerOf<'GET', P>, CodeOf<'GET', P>>> {
  const call = api.get as (path: string, options: object) => Promise<unknown>
  return call(path, request) as Promise<Result<AnswerOf<'GET', P>, CodeOf<'GET', P>>>
}

/**
 * The answer of a GET, read anew after events of the types in `on` and every `everyMs`. `path` undefined reads nothing (yet).
 * `useQuery('/v1/sims/{imsi}', { path: { imsi } }, { on: ['sim.*'] })`.
 */
export function useQuery<P extends PathOf<'GET'>>(
  path: P | undefined,
  request: RequestOf<'GET', P> | Record<string, never> = {},
  { on = [], everyMs }: Repeat = {},
): Query<AnswerOf<'GET', P>, CodeOf<'GET', P>> {
  type Known = Pick<Query<AnswerOf<'GET', P>, CodeOf<'GET', P>>, 'data' | 'error' | 'etag'> & {
    readonly key: string
  }
  const key = path === undefined ? '' : `${path} ${JSON.stringify(request)}`
  const [known, setKnown] = useState<Known>({ data: undefined, error: undefined, etag: undefined, key: '' })
  const reloaded = useRef<() => Promise<void>>(async () => undefined)
  const types = on.join(' ')
  useEffect(() => {
    if (path === undefined) return undefined
    const reader = queryReader<AnswerOf<'GET', P>, CodeOf<'GET', P>>(
      (ifNoneMatch) => read(path, ifNoneMatch === undefined ? request : { ...request, ifNoneMatch }),
      (result) =>
        setKnown((before) =>
          result.ok
            ? { data: result.data, error: undefined, etag: result.etag, key }
            : {
                ...(before.key === key ? before : { data: undefined, etag: undefined }),
                error: result.error,
                key,
              },
        ),
    )
    reloaded.current = reader.looked
    reader.look()
    // What changed while the connection was lost is read by all.
    const stop = soonAfter(types === '' ? ['-'] : types.split(' '), reader.look)
    const often =
      everyMs === undefined ? undefined : setInterval(() => !document.hidden && reader.look(), everyMs)
    return () => {
      reader.end()
      clearInterval(often)
      stop()
    }
  }, [key, types, everyMs])
  const isOf = known.key === key
  return {
    data: isOf ? known.data : undefined,
    error: isOf ? known.error : undefined,
    etag: isOf ? known.etag : undefined,
    isLoading: key !== '' && !isOf,
    reload: () => void reloaded.current(),
    reloaded: () => reloaded.current(),
  }
}

/** What follows when it is done. */
export interface After<Data> {
  /** What is said for a while. */
  readonly done?: string | ((data: Data) => string) | undefined
  readonly onDone?: ((data: Data, etag: string | undefined) => void) | undefined
}

/** Something that a person does and that may fail. */
export interface Action<Arguments extends readonly unknown[], Data> {
  /** Does it; the result too is given back. While it runs a second call does nothing and gives undefined. */
  readonly run: (...given: Arguments) => Promise<Result<Data> | undefined>
  readonly isBusy: boolean
  /** Why the last one failed, until the next one or `clear`. */
  readonly error: Problem | undefined
  readonly clear: () => void
}

/**
 * A change with its state: `const suspend = useAction((imsi: string) => api.post('/v1/sims/{imsi}/suspend', …))`. Undefined where nothing was
 * to be sent after all.
 */
export function useAction<Arguments extends readonly unknown[], Data>(
  act: (...given: Arguments) => Promise<Result<Data> | undefined>,
  { done, onDone }: After<Data> = {},
): Action<Arguments, Data> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Problem>()
  const isRunning = useRef(false)
  const run = async (...given: Arguments): Promise<Result<Data> | undefined> => {
    if (isRunning.current) return undefined
    isRunning.current = true
    setBusy(true)
    setError(undefined)
    try {
      const result = await act(...given)
      if (result?.ok === false) setError(result.error)
      if (result?.ok !== true) return result
      if (done !== undefined) toast({ text: typeof done === 'string' ? done : done(result.data) })
      onDone?.(result.data, result.etag)
      return result
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }
  return { run, isBusy, error, clear: () => setError(undefined) }
}
