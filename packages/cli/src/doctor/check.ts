/** What one look of the doctor found. `remedy` says what to do when it is not ok. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly remedy?: string
}

/** All is well. */
export function healthy(name: string, detail: string): Check {
  return { name, status: 'ok', detail }
}

/** It works, but not for long or not for all. */
export function doubtful(name: string, detail: string, remedy: string): Check {
  return { name, status: 'warn', detail, remedy }
}

/** The service does not start or does not do its work like this. */
export function broken(name: string, detail: string, remedy: string): Check {
  return { name, status: 'fail', detail, remedy }
}

/** What an error says, in one line. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, '; ')
}
