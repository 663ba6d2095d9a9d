import type { Log } from '@steeple/contracts'

export interface Line {
  readonly level: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A log that only remembers. */
export function createTestLog(lines: Line[]): Log {
  const at = (level: string) => (facts: object, message: string) => {
    lines.push({ level, facts: { ...facts }, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
