import type { Principal } from '@steeple/contracts'

/** A principal in one line, as records show it: `token:tok-1/alice`, without the name where it is the id. */
export function principalText({ kind, id, name }: Principal): string {
  return name === id ? `${kind}:${id}` : `${kind}:${id}/${name}`
}
