import type { Terminal } from '../terminal.ts'

/** Before that nobody wonders, ms. */
const QUIET_MS = 1_000
const EVERY_MS = 500
const ERASE_LINE = '\r\u001b[K'

/** Says how far it is; undefined when that is not known. */
export type Far = () => string | undefined

/**
 * Does `work`, and tells a person who watches what it is that takes so long: a line on standard error that is gone when the
 * work is done. Nothing where standard error is no terminal.
 */
export async function withProgress<T>(
  terminal: Terminal,
  what: string,
  work: () => Promise<T>,
  far: Far = () => undefined,
): Promise<T> {
  if (!terminal.isWatched) return await work()
  const begunMs = performance.now()
  let isShown = false
  const show = (): void => {
    const passedMs = performance.now() - begunMs
    if (passedMs < QUIET_MS) return
    isShown = true
    const where = far()
    const words = where === undefined ? what : `${what}: ${where}`
    terminal.err(`${ERASE_LINE}${words} … ${Math.floor(passedMs / 1_000)} s`)
  }
  const timer = setInterval(show, EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (isShown) terminal.err(ERASE_LINE)
  }
}
