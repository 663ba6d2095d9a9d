import { setTimeout as delay } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { CommandError, failure } from '../command-error.ts'

/** What `--wait` gave. */
export interface WaitOptions {
  /** Seconds; undefined: no second try. */
  readonly wait?: number
}

/** Longer than a start takes that upgrades a large store. */
const USUAL_S = '60'
const PAUSE_MS = 250
/** What passes by itself while a service starts, or is upgraded behind a proxy. */
const PASSING = new Set(['unreachable', 'not_ready', 'bad_answer', 'store_unavailable', 'rate_limited'])

/** `--wait [SECONDS]`. */
export function waitable(command: Command, until: string): Command {
  return command.option(
    '--wait [seconds]',
    `try again until ${until}, at most so long (${USUAL_S} s when no number is given)`,
    secondsFrom,
  )
}

/** What commander hands on: true when `--wait` stands alone. */
export function waitFrom({ wait }: { readonly wait?: number | true }): WaitOptions {
  if (wait === undefined) return {}
  return { wait: wait === true ? Number(USUAL_S) : wait }
}

function secondsFrom(text: string): number {
  const [, number, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(s|m)?$/.exec(text) ?? []
  const seconds = Number(number) * (unit === 'm' ? 60 : 1)
  if (!(seconds > 0)) throw new InvalidArgumentError('It is a number of seconds above 0, such as 30.')
  return seconds
}

/**
 * Asks until what was answered is enough or the time is over, and gives the last answer. Without `wait` it asks once.
 *
 * Throws what asking throws: at once what no waiting mends (a wrong token), the rest when the time is over.
 */
export async function patiently<T>(
  { wait }: WaitOptions,
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean = () => true,
): Promise<T> {
  const endMs = performance.now() + (wait ?? 0) * 1000
  for (;;) {
    const leftMs = (): number => endMs - performance.now()
    try {
      const answer = await ask()
      if (isEnough(answer) || leftMs() <= 0) return answer
    } catch (error) {
      if (wait === undefined || !(error instanceof CommandError) || !PASSING.has(error.code)) throw error
      if (leftMs() <= 0) throw failure(error.code, `${error.message}; waited for ${wait} s`, { ...error })
    }
    await delay(Math.max(0, Math.min(PAUSE_MS, leftMs())))
  }
}
