import { readFileSync } from 'node:fs'
import type { Settings } from '@steeple/contracts'
import { type Check, broken as failed, healthy } from './check.ts'
import { tapKeys } from './check-tap.ts'

/** Bit numbers of linux/capability.h. */
const CAPABILITIES = { CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 } as const
type Capability = keyof typeof CAPABILITIES

/** Ports below this need a capability. */
const FIRST_FREE_PORT = 1024

/** The capabilities that the configuration needs. `hasMesh`: the build has the package that makes WireGuard links. */
export function checkCapabilities(settings: Settings, port: number, hasMesh: boolean): readonly Check[] {
  const { enabled, driver = 'nft' } = tapKeys(settings)
  const needs: readonly (readonly [Capability, boolean, string])[] = [
    ['CAP_NET_ADMIN', enabled && driver === 'nft', 'collector.upf.driver nft'],
    ['CAP_NET_RAW', enabled && driver === 'pcap', 'collector.upf.driver pcap'],
    ['CAP_NET_ADMIN', hasMesh && settings.peering.enabled, 'peering.enabled'],
    ['CAP_NET_BIND_SERVICE', port > 0 && port < FIRST_FREE_PORT, `port ${port}`],
  ]
  const held = heldCapabilities(readStatus())
  return needs
    .filter(([, isNeeded]) => isNeeded)
    .map(([name, , why]) => {
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
