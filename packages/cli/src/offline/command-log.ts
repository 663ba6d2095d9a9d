import type { Log } from '@steeple/contracts'
import type { Terminal } from '../terminal.ts'

/** The log of a command: what someone must act on goes to standard error, the rest is left out. */
export function commandLog(terminal: Terminal): Log {
  const say = (_facts: object, message: string): void => terminal.err(`svc: ${message}\n`)
  return { debug: () => {}, info: () => {}, warn: say, error: say }
}
