/** What one look found. `advice` says what to do when it is not ok. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed' | 'unknown'
  readonly detail: string
  readonly advice: string | null
}

/** All is well. */
export function fine(name: string, detail: string): Check {
  return { name, status: 'ok', detail, advice: null }
}

/** It may keep the phone from getting on, or will. */
export function doubtful(name: string, detail: string, advice: string | null): Check {
  return { name, status: 'warning', detail, advice }
}

/** It keeps the phone from getting on. */
export function failed(name: string, detail: string, advice: string): Check {
  return { name, status: 'failed', detail, advice }
}

/** It could not be found out. */
export function unknown(name: string, detail: string, advice: string | null = null): Check {
  return { name, status: 'unknown', detail, advice }
}
