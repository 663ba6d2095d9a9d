import { suite as uvuSuite } from 'uvu'

/** The time that a test or hook may take unless it asks for more. It ends what hangs; a busy machine only takes longer. */
export const DEFAULT_LIMIT_MS = 360_000

/** Work of a test or hook. */
export type Body = () => void | Promise<void>

/** Options of one test or hook. */
export interface BodyOptions {
  /** Milliseconds; `DEFAULT_LIMIT_MS` when absent. */
  readonly limitMs?: number
}

/** Registers a hook around the whole suite, or with `each` around every test. */
export interface SuiteHook {
  (body: Body, options?: BodyOptions): void
  each(body: Body, options?: BodyOptions): void
}

/** A suite of tests. Names are sentences; a file ends with `.run()`. */
export interface Suite {
  (name: string, body: Body, options?: BodyOptions): void
  readonly before: SuiteHook
  readonly after: SuiteHook
  run(): void
}

/**
 * A uvu suite whose tests and hooks fail when they take longer than their limit: their own, or else that of `all`.
 *
 * A failing `before` fails every test of the suite; uvu alone would report it as passed.
 */
export function suite(name: string, all: BodyOptions = {}): Suite {
  const inner = uvuSuite(name)
  let brokenSetup: { readonly cause: unknown } | undefined
  const before = (body: Body, options?: BodyOptions): void =>
    inner.before(async () => {
      try {
        await limited(body, 'the before hook', { ...all, ...options })
      } catch (cause) {
        brokenSetup ??= { cause }
      }
    })
  const after = (body: Body, options?: BodyOptions): void =>
    inner.after(() => limited(body, 'the after hook', { ...all, ...options }))
  const test = (sentence: string, body: Body, options?: BodyOptions): void =>
    inner(sentence, async () => {
      if (brokenSetup !== undefined) throw asError(brokenSetup.cause)
      try {
        await limited(body, `"${sentence}"`, { ...all, ...options })
      } catch (error) {
        throw printable(error)
      }
    })
  return Object.assign(test, {
    before: Object.assign(before, {
      each: (body: Body, options?: BodyOptions): void =>
        inner.before.each(() => limited(body, 'the before.each hook', { ...all, ...options })),
    }),
    after: Object.assign(after, {
      each: (body: Body, options?: BodyOptions): void =>
        inner.after.each(() => limited(body, 'the after.each hook', { ...all, ...options })),
    }),
    run: (): void => inner.run(),
  })
}

/** uvu prints `details` as text; where they are none it ends without a word, and with the exit code of success. */
function printable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const details: unknown = Reflect.get(error, 'details')
  if (typeof details !== 'object' || details === null) return error
  return new Error(`${error.message}: ${JSON.stringify(details)}`, { cause: error })
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(`the before hook failed: ${String(cause)}`, { cause })
}

/** Runs `body` and rejects when it is not over within its limit. The body itself cannot be stopped. */
export async function limited(body: Body, what: string, options: BodyOptions = {}): Promise<void> {
  const limitMs = options.limitMs ?? DEFAULT_LIMIT_MS
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not over after ${limitMs} ms`)), limitMs)
  })
  try {
    await Promise.race([body(), late])
  } finally {
    clearTimeout(timer)
  }
}
