import { type Context, coreDriverRef, ranDriverRef } from '@steeple/contracts'

/** What the status says of radio and phones. */
interface RadioView {
  readonly isConnected: boolean
  readonly mode: 'lte' | 'nr' | 'none'
  readonly attachedUes: number
}

/** Gives the view, observed anew at most every `VIEW_MS`. */
export type RadioLook = () => Promise<RadioView>

const VIEW_MS = 2_000
const LOOK_BOUND_MS = 1_000

/**
 * Makes a look at the drivers for radio and core, whichever are loaded.
 *
 * Requests share one look; a driver that fails or does not answer within a second counts as not connected. Its own
 * health check says why.
 */
export function createRadioLook(context: Context): RadioLook {
  let last: { readonly atMs: number; readonly view: Promise<RadioView> } | undefined
  return async () => {
    const nowMs = context.clock.monotonicMs()
    if (last === undefined || nowMs - last.atMs >= VIEW_MS) last = { atMs: nowMs, view: look(context) }
    return last.view
  }
}

async function look(context: Context): Promise<RadioView> {
  const signal = AbortSignal.any([context.retiring, AbortSignal.timeout(LOOK_BOUND_MS)])
  const [driver, core] = await Promise.all([
    within(signal, context.maybe(ranDriverRef)?.observe(signal)),
    within(signal, context.maybe(coreDriverRef)?.observe(signal)),
  ])
  // Without a radio of its own the driver knows nothing: the core may know one of somebody else.
  const ran = driver?.mode === 'none' ? undefined : driver
  return {
    isConnected: ran?.isConnected ?? (core?.radios ?? 0) > 0,
    mode: ran?.mode ?? core?.technology ?? 'none',
    attachedUes: core?.attachedUes ?? ran?.attachedUes ?? 0,
  }
}

/** The result of `work`; undefined when it fails or the signal fires first. */
async function within<T>(signal: AbortSignal, work: Promise<T> | undefined): Promise<T | undefined> {
  if (work === undefined) return undefined
  const fired = Promise.withResolvers<undefined>()
  const stop = (): void => fired.resolve(undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work.catch(() => undefined), fired.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
