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

/** That files of others are in the way, and what lets an apply replace them. */
export function heldWords(dir: string, held: readonly string[]): string {
  return (
    `this service did not write ${held.join(', ')} in ${dir}, so nothing is applied until you agree: ` +
    'svc core take-over keeps a copy for good and replaces them'
  )
}

/** Where copies of what others had written are, and how they come back. */
export function originalsWords(folders: readonly string[]): string {
  return `files that were there before are kept in ${folders.join(', ')}: svc core restore-original puts them back`
}
