import { isIPv4 } from 'node:net'
import {
  type AddressRange,
  checkApns,
  checkMaxUes,
  checkPlmn,
  checkSlices,
  databaseHostProblem,
  type Found,
  type PlacedDesired,
  rangeText,
  shown,
} from '@steeple/southbound'
import { isTac } from '@steeple/telecom'
import { databaseOf, type RenderSettings, releaseTraits } from './core-plan.ts'
import {
  EXTRA_ROLES,
  FUNCTIONS,
  type FunctionAddresses,
  functionAddresses,
  functionsOf,
  isNetworkFunction,
} from './functions.ts'
import { parseIpv4Range, partPrefix, phonesIn, prefixFor } from './pools.ts'

/** TS 23.003 §19.4.2.3: these stand for "no valid tracking area". */
const RESERVED_TACS: readonly number[] = [0, 0xfffffe]
/** The SMF takes 0 for a missing slice and refuses its sessions. */
const SLICE_RULES = { key: 'core_b.slices', leastSst: 1 }
/** RFC 1123 §2.1, and short enough for a file. */
const HOST = /^(?=.{1,253}$)(?!-)[A-Za-z0-9-]{1,63}(?<!-)(?:[.](?!-)[A-Za-z0-9-]{1,63}(?<!-))*$/

/** Everything that free5GC would refuse or take wrongly, one line each: key, value, what is allowed. */
export function problemsOf(desired: PlacedDesired, settings: RenderSettings): readonly string[] {
  const lines: string[] = []
  const found: Found = (key, message) => lines.push(`${key} ${message}`)
  checkNetwork(desired, found)
  checkApns(desired.apns, found)
  checkSlices(settings.slices, SLICE_RULES, found)
  checkDifferentiators(settings, found)
  if (!settings.charging && releaseTraits(settings.release)?.wantsCharging === true)
    found(
      'core_b.charging',
      `is false; the SMF of ${settings.release} gives no session without a CHF, that of 3.4.3 does`,
    )
  for (const [role, address] of Object.entries(desired.addresses)) {
    const problem = addressProblem(role, address)
    if (problem !== undefined) found(`core_b.addresses.${role}`, problem)
  }
  checkListeners(desired.addresses, settings.charging, found)
  checkPool(desired, settings, found)
  if (releaseTraits(settings.release) === undefined)
    found('core_b.release', `is ${shown(settings.release)}; allowed is 3.4.0 or later, such as 4.2.3`)
  if (databaseOf(settings.mongoUrl, desired.addresses.mongo) === undefined)
    found('hss.mongo_url', 'is not mongodb://<host>/<database>')
  return lines
}

function checkNetwork({ plmn, tac }: PlacedDesired, found: Found): void {
  checkPlmn(plmn, found)
  if (!isTac('nr', tac) || RESERVED_TACS.includes(tac))
    found('tac', `is ${shown(tac)}; allowed is 1 to 16777213, and 16777215`)
}

function checkDifferentiators({ slices, release }: RenderSettings, found: Found): void {
  if (releaseTraits(release)?.wantsDifferentiators !== true) return
  for (const [index, { sd }] of slices.entries()) {
    if (sd === undefined)
      found(
        `core_b.slices.${index}.sd`,
        `is missing; AMF and SMF of ${release} take no slice without one, those of 3.4.3 do`,
      )
  }
}

function addressProblem(role: string, address: string): string | undefined {
  if (!isNetworkFunction(role) && !EXTRA_ROLES.some((extra) => extra === role))
    return `names no role; roles are ${[...FUNCTIONS, ...EXTRA_ROLES].toSorted().join(', ')}`
  if (role === 'mongo') return databaseHostProblem(address)
  if (role === 'dns') return isIPv4(address) ? undefined : `is ${shown(address)}; allowed is an IPv4 address`
  if (isWildcard(address)) return `is ${shown(address)}; allowed is the address at which others find it`
  const isName = HOST.test(address) && !/^[0-9.]+$/.test(address)
  return isName || isIPv4(address)
    ? undefined
    : `is ${shown(address)}; allowed is an IPv4 address or a host name`
}

function isWildcard(address: string): boolean {
  return isIPv4(address) && address.startsWith('0.')
}

/** No two functions on one address and port. */
function checkListeners(
  addresses: Readonly<Record<string, string>>,
  hasCharging: boolean,
  found: Found,
): void {
  const places = functionAddresses(addresses)
  const taken = new Map<string, string>()
  for (const nf of functionsOf(hasCharging)) {
    if (nf === 'upf') continue
    const address = places.of(nf).toLowerCase()
    const other = taken.get(address)
    if (other !== undefined)
      found(`core_b.addresses.${nf}`, `is ${shown(address)}, where ${other} listens too`)
    taken.set(address, nf)
  }
  if (places.n4.toLowerCase() === places.of('upf').toLowerCase())
    found('core_b.addresses.n4', `is ${shown(places.n4)}, where upf speaks PFCP too`)
}

function checkPool(desired: PlacedDesired, settings: RenderSettings, found: Found): void {
  const { apns, maxUes } = desired
  checkMaxUes(maxUes, found)
  const pool = parseIpv4Range(settings.subnet)
  if (pool === undefined) {
    found('core_b.subnet', `is ${shown(settings.subnet)}; allowed is an IPv4 range such as 10.60.0.0/15`)
    return
  }
  if (rangeText(pool) !== settings.subnet)
    found('core_b.subnet', `is ${shown(settings.subnet)}, an address in ${rangeText(pool)}; write the range`)
  const count = apns.length * settings.slices.length
  const prefix = partPrefix(pool, count)
  if (count > 0 && phonesIn(prefix) < maxUes) {
    const spare = prefix - pool.prefix
    found(
      'core_b.subnet',
      `is ${shown(settings.subnet)}; ${maxUes} phones with ${count} pools (APNs times slices) need /${prefixFor(maxUes) - spare}`,
    )
  }
  checkInside(pool, functionAddresses(desired.addresses), settings, found)
}

function checkInside(
  pool: AddressRange,
  places: FunctionAddresses,
  settings: RenderSettings,
  found: Found,
): void {
  const roles: readonly (readonly [string, string])[] = [
    ...functionsOf(settings.charging).map((nf) => [nf, places.of(nf)] as const),
    ['n2', places.n2],
    ['n3', places.n3],
    ['n4', places.n4],
  ]
  for (const [role, address] of roles) {
    if (pool.has(address))
      found(
        `core_b.addresses.${role}`,
        `lies in core_b.subnet ${shown(settings.subnet)}, whose addresses are the phones'`,
      )
  }
}
