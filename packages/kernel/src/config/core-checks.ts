import { isIP, isIPv4 } from 'node:net'
import { posix } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { shownValue } from './describe-problem.ts'
import { isCidr, isHostName } from './network-syntax.ts'
import type { Check, Found } from './semantic-checks.ts'

type Core = 'core_a' | 'core_b'

/** What may stand at a role: whether a text is one, and what to write instead. */
interface Form {
  readonly words: string
  is(text: string): boolean
}

const IPV4: Form = { words: 'an IPv4 address', is: isIPv4 }
const ANY_IP: Form = {
  words: 'an IPv4 or IPv6 address',
  is: (text) => isIP(text) !== 0 && !text.includes('%'),
}
const IPV4_OR_NAME: Form = {
  words: 'an IPv4 address or a host name',
  is: (text) => isIPv4(text) || (!/^[\d.]+$/.test(text) && isHostName(text)),
}
/** A name of a container network may have an underscore; several hosts have ports. */
const DATABASE_HOST: Form = { words: 'a host', is: (text) => /^[A-Za-z0-9.:_-]{1,253}$/.test(text) }

/** Roles that are not what the others of their core are. */
const FORMS: Readonly<Record<Core, Readonly<Record<string, Form>>>> = {
  core_a: { dns: ANY_IP, dns2: ANY_IP, mongo: DATABASE_HOST },
  core_b: { dns: IPV4, mongo: DATABASE_HOST },
}
/** The daemons of `core_a` take addresses only; the functions of `core_b` find each other by name. */
const OTHER_FORM: Readonly<Record<Core, Form>> = { core_a: IPV4, core_b: IPV4_OR_NAME }
const SUBNET_EXAMPLE: Readonly<Record<Core, string>> = { core_a: '10.45.0.0/16', core_b: '10.60.0.0/15' }

/** Directories that belong to the system: files for a core have a folder of their own, which may lie below one. */
const SYSTEM_DIRS: readonly string[] = [
  '/',
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/home',
  '/lib',
  '/lib64',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/sys',
  '/tmp',
  '/usr',
  '/var',
]

/** Checks beyond types of `core_a` and `core_b`: what the drivers would refuse only once they render. */
export const CORE_CHECKS: readonly Check[] = (['core_a', 'core_b'] as const).flatMap((core): Check[] => [
  { keys: [`${core}.config_dir`], run: (settings, found) => checkConfigDir(core, settings, found) },
  { keys: [`${core}.addresses`], run: (settings, found) => checkAddresses(core, settings, found) },
  { keys: [`${core}.subnet`], run: (settings, found) => checkSubnet(core, settings, found) },
])

function checkConfigDir(core: Core, settings: Settings, found: Found): void {
  const dir = settings[core].config_dir
  const key = `${core}.config_dir`
  if (dir === '') return
  if (!posix.isAbsolute(dir)) {
    found(key, `must be an absolute path, not ${shownValue(dir, '')}`)
    return
  }
  const plain = posix.resolve(dir)
  if (SYSTEM_DIRS.includes(plain)) found(key, `must not be ${plain} itself; name a folder of its own`)
}

function checkAddresses(core: Core, settings: Settings, found: Found): void {
  for (const [role, address] of Object.entries(settings[core].addresses)) {
    const own = FORMS[core]
    const form = (Object.hasOwn(own, role) ? own[role] : undefined) ?? OTHER_FORM[core]
    if (!form.is(address))
      found(`${core}.addresses.${role}`, `must be ${form.words}, not ${shownValue(address, '')}`)
  }
}

function checkSubnet(core: Core, settings: Settings, found: Found): void {
  const { subnet } = settings[core]
  if (isCidr(subnet)) return
  const message = `must be an address range such as ${SUBNET_EXAMPLE[core]}, not ${shownValue(subnet, '')}`
  found(`${core}.subnet`, message)
}
