import { existsSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { networkInterfaces } from 'node:os'
import { basename, join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { type Check, broken as failed, healthy } from '../check.ts'
import type { DoctorPart } from '../doctor-part.ts'

/** `collector.upf` as the tap's own schema has it. */
interface TapKeys {
  readonly enabled: boolean
  readonly iface: string
  readonly driver?: string
  readonly file?: string
}

/** What the tap's programs are looked for in, whatever the service's own PATH is. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
const NAME = 'tap'

/** The keys of the tap; its driver is nft where none is said. */
function tapKeys({ collector }: Pick<Settings, 'collector'>): TapKeys {
  // The type of the whole configuration knows the keys of the specification; the driver's are the plugin's own.
  return collector.upf
}

/** Looks whether what the tap's driver needs beside its capability is there; runs nothing. */
export async function checkTap(
  settings: Pick<Settings, 'collector'>,
  packages: readonly string[],
): Promise<readonly Check[]> {
  const { enabled, iface, driver = 'nft', file = '' } = tapKeys(settings)
  if (!enabled) return []
  const checks = [await program('setpriv', 'util-linux')]
  if (driver === 'file') return [...checks, capture(file)]
  if (driver === 'nft') checks.push(await program('nft', 'nftables', ', or take collector.upf.driver pcap'))
  else checks.push(pcap(packages))
  return [...checks, interfaceOf(iface)]
}

async function program(name: string, debian: string, otherwise = ''): Promise<Check> {
  const found = await Promise.all(
    SYSTEM_FOLDERS.map((folder) =>
      access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  )
  return found.includes(true)
    ? healthy(NAME, `${name} is there`)
    : failed(NAME, `there is no program ${name}`, `install ${debian}${otherwise}`)
}

function interfaceOf(iface: string): Check {
  // Those without an address are none for Node, so the kernel is asked too.
  const isThere = iface in networkInterfaces() || existsSync(`/sys/class/net/${iface}`)
  return isThere
    ? healthy(NAME, `looks at ${iface}`)
    : failed(
        NAME,
        `there is no interface ${iface}`,
        'correct collector.upf.iface, or bring the interface up; the tap looks for it again',
      )
}

function pcap(packages: readonly string[]): Check {
  const folder = packages.find((dir) => basename(dir) === 'collector-gtpu')
  try {
    createRequire(join(folder ?? '/', 'package.json'))('pcap')
    return healthy(NAME, 'npm pcap is built')
  } catch {
    return failed(
      NAME,
      'npm pcap is not there or was not built',
      'install libpcap-dev, make, g++ and python3, remove node_modules and build again, or take collector.upf.driver nft',
    )
  }
}

function capture(file: string): Check {
  return existsSync(file)
    ? healthy(NAME, 'the capture is there')
    : failed(NAME, `there is no capture ${file}`, 'correct collector.upf.file')
}

/** What the tap needs. */
export const part: DoctorPart = {
  of: 'collector-gtpu',
  checks: checkTap,
  needs: (settings) => {
    const { enabled, driver = 'nft' } = tapKeys(settings)
    return [
      { capability: 'CAP_NET_ADMIN', isNeeded: enabled && driver === 'nft', why: 'collector.upf.driver nft' },
      { capability: 'CAP_NET_RAW', isNeeded: enabled && driver === 'pcap', why: 'collector.upf.driver pcap' },
    ]
  },
}
