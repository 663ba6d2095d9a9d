import { followChanges } from './changes.ts'
import { api } from './client.ts'

/** Follows the service's changes over one connection, until the returned function is called. */
export function follow(): () => void {
  const ending = new AbortController()
  void followChanges(api.events, ending.signal)
  return () => ending.abort()
}
