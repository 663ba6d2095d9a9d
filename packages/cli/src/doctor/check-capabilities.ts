import { readFileSync } from 'node:fs'
import { type Check, broken as failed, healthy } from './check.ts'
import type { Need } from './doctor-part.ts'

/** Bit numbers of linux/capability.h. */
const CAPABILITIES = { CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 } as const

/** Ports below this need a capability. */
const FIRST_FREE_PORT = 1024

/** The capabilities that the configuration needs: what parts of the build need, and what the port does. */
export function checkCapabilities(ofParts: readonly Need[], port: number): readonly Check[] {
  const isLow = port > 0 && port < FIRST_FREE_PORT
  const needs: readonly Need[] = [
    ...ofParts,
    { capability: 'CAP_NET_BIND_SERVICE', isNeeded: isLow, why: `port ${port}` },
  ]
  const held = heldCapabilities(readStatus())
  return needs
    .filter(({ isNeeded }) => isNeeded)
    .map(({ capability: name, why }) => {
      if (held === undefined || (held >> BigInt(CAPABILITIES[name])) & 1n)
        return healthy('capabilities', `${name} for ${why}`)
      return failed(
        'capabilities',
        `${why} needs ${name}`,
        `give it: AmbientCapabilities=${name} in the unit`,
      )
    })
}

/** The effective set of `/proc/<pid>/status`; undefined when it is not there. */
export function heldCapabilities(status: string): bigint | undefined {
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  return hex === undefined ? undefined : BigInt(`0x${hex}`)
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch {
    return ''
  }
}
