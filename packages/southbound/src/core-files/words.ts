import { redacted } from '../redact.ts'

/** What an error says, fit to be shown. */
export function errorWords(error: unknown): string {
  return redacted(error instanceof Error ? error.message : String(error))
}

/** That nobody restarts daemons, and which keys change that. */
export function unmanagedWords(core: string, daemons: readonly string[]): string {
  const keys = daemons.map((name) => `${core}.containers.${name}`).join(', ')
  return `nobody restarts ${daemons.join(', ')} when its files change: name its container in ${keys}`
}
