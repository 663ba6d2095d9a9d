import { existsSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { CapabilityNeed, Finding, Settings } from '@steeple/contracts'

/** What the tap's programs are looked for in, whatever the service's own PATH is. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Looks whether what the tap's driver needs beside its capability is there; runs nothing. `from`: the module that would load npm pcap. */
export async function checkTap(
  { upf }: Pick<Settings['collector'], 'upf'>,
  from: string = import.meta.url,
): Promise<readonly (Finding | CapabilityNeed)[]> {
  // The type of the whole configuration knows the keys of the specification; the driver's are the plugin's own.
  const { enabled, iface, driver = 'nft', file = '' }: TapKeys = upf
  if (!enabled) return []
  const checks: (Finding | CapabilityNeed)[] = [await program('setpriv', 'util-linux')]
  if (driver === 'file') return [...checks, capture(file)]
  if (driver === 'nft') checks.push(await program('nft', 'nftables', ', or take collector.upf.driver pcap'))
  else checks.push(pcap(from))
  const capability = driver === 'nft' ? 'CAP_NET_ADMIN' : 'CAP_NET_RAW'
  return [...checks, interfaceOf(iface), { capability, why: `collector.upf.driver ${driver}` }]
}

/** `collector.upf` as the tap's own schema has it. */
interface TapKeys {
  readonly enabled: boolean
  readonly iface: string
  readonly driver?: string
  readonly file?: string
}

function finding(problem: string, remedy: string, isWell: boolean, well: string): Finding {
  return isWell
    ? { name: 'tap', status: 'ok', detail: well }
    : { name: 'tap', status: 'fail', detail: problem, remedy }
}

async function program(name: string, debian: string, otherwise = ''): Promise<Finding> {
  const found = await Promise.all(
    SYSTEM_FOLDERS.map((folder) =>
      access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  )
  const remedy = `install ${debian}${otherwise}`
  return finding(`there is no program ${name}`, remedy, found.includes(true), `${name} is there`)
}

function interfaceOf(iface: string): Finding {
  // Those without an address are none for Node, so the kernel is asked too.
  const isThere = iface in networkInterfaces() || existsSync(`/sys/class/net/${iface}`)
  const remedy = 'correct collector.upf.iface, or bring the interface up; the tap looks for it again'
  return finding(`there is no interface ${iface}`, remedy, isThere, `looks at ${iface}`)
}

function pcap(from: string): Finding {
  const remedy =
    'it counts where nftables is missing: install libpcap-dev, make, g++ and python3 and run npm run native, or take collector.upf.driver nft'
  const problem = 'npm pcap is not there or was not built'
  try {
    createRequire(from)('pcap')
    return finding(problem, remedy, true, 'npm pcap is built')
  } catch {
    return finding(problem, remedy, false, '')
  }
}

function capture(file: string): Finding {
  const remedy = 'correct collector.upf.file'
  return finding(`there is no capture ${file}`, remedy, existsSync(file), 'the capture is there')
}
