import type { Log } from '@steeple/contracts'
import type { Peer } from './peer.ts'

/** Levels of a log line. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** A log whose lines the parent writes, with the plugin's name. */
export function createChildLog(peer: Peer): Log {
  const at = (level: (typeof LOG_LEVELS)[number]) => (facts: object, message: string) =>
    peer.tell('log', [level, plainFacts(facts), message])
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Facts as they can cross: errors as name, message and stack; what is no plain data as its text. */
function plainFacts(facts: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, plainFact(value)]))
}

function plainFact(value: unknown): unknown {
  if (value instanceof Error) return { type: value.name, message: value.message, stack: value.stack }
  try {
    return structuredClone(value)
  } catch {
    return String(value)
  }
}
