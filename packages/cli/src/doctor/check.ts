import type { Finding } from '@steeple/contracts'

export function healthy(name: string, detail: string): Finding {
  return { name, status: 'ok', detail }
}

/** It works, but not for long or not for all. */
export function doubtful(name: string, detail: string, remedy: string): Finding {
  return { name, status: 'warn', detail, remedy }
}

/** The service does not start or does not do its work like this. */
export function broken(name: string, detail: string, remedy: string): Finding {
  return { name, status: 'fail', detail, remedy }
}

/** What an error says, in one line. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, '; ')
}
