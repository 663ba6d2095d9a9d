import { isIP } from 'node:net'
import type { Rendered } from '@steeple/contracts'
import {
  checkApns,
  checkMaxUes,
  checkPlmn,
  checkSlices,
  databaseHostProblem,
  type Found,
  type PlacedDesired,
  parseRange,
  problemsError,
  rangeText,
  renderedOf,
  type Section,
  shown,
  yamlText,
} from '@steeple/southbound'
import { isTac, tacMax } from '@steeple/telecom'
import {
  type CorePlan,
  dbUriOf,
  homeKeyPath,
  maxUeOf,
  metricsEndpoint,
  type RenderSettings,
} from './core-plan.ts'
import {
  diameterFile,
  diameterPath,
  hssSection,
  mmeSection,
  pcrfSection,
  sgwcSection,
  sgwuSection,
  speaksDiameter,
} from './epc-files.ts'
import {
  amfSection,
  nrfSection,
  nssfSection,
  pcfSection,
  plainSection,
  scpSection,
  udmSection,
} from './five-g-files.ts'
import {
  addressOf,
  DAEMONS,
  type Daemon,
  daemonsOf,
  EXTRA_ROLES,
  FACTS,
  type Generation,
  generationsOf,
  isDaemon,
} from './roles.ts'
import { smfSection, upfSection } from './session-files.ts'

const SLICE_RULES = { key: 'core_a.slices', leastSst: 0, noSd: 'ffffff' }

/**
 * Everything that the core would take silently and wrongly, one line each: key, value, what is allowed.
 *
 * The core checks hardly anything: a network code of one digit, a tracking area of 17 bits and the word "seven" start.
 */
function problemsOf(
  desired: PlacedDesired,
  settings: RenderSettings,
  generations: readonly Generation[],
  daemons: readonly Daemon[],
): readonly string[] {
  const lines: string[] = []
  const found: Found = (key, message) => lines.push(`${key} ${message}`)
  checkNetwork(desired, generations, found)
  checkApns(desired.apns, found)
  if (generations.includes('5gc')) checkSlices(settings.slices, SLICE_RULES, found)
  checkAddresses(desired.addresses, found)
  checkListeners(desired.addresses, settings, daemons, found)
  checkPool(desired, settings.subnet, daemons, found)
  if (dbUriOf(settings.mongoUrl, desired.addresses.mongo) === undefined)
    found('hss.mongo_url', 'is not mongodb://<host>/<database>')
  return lines
}

function checkNetwork({ plmn, tac }: PlacedDesired, generations: readonly Generation[], found: Found): void {
  checkPlmn(plmn, found)
  const technology = generations.includes('epc') ? 'lte' : 'nr'
  if (!isTac(technology, tac))
    found('tac', `is ${shown(tac)}; allowed is 0 to ${tacMax(technology)} in ${technology.toUpperCase()}`)
}

function checkAddresses(addresses: Readonly<Record<string, string>>, found: Found): void {
  for (const [role, address] of Object.entries(addresses)) {
    const problem = addressProblem(role, address)
    if (problem !== undefined) found(`core_a.addresses.${role}`, problem)
  }
}

/** SMF, UPF and SGW-U do not start without an IPv4 address, and the others must reach them. */
function addressProblem(role: string, address: string): string | undefined {
  if (!isDaemon(role) && !EXTRA_ROLES.some((extra) => extra === role))
    return `names no role; roles are ${[...DAEMONS, ...EXTRA_ROLES].toSorted().join(', ')}`
  if (role === 'mongo') return databaseHostProblem(address)
  if (role === 'dns' || role === 'dns2') {
    const isPlain = isIP(address) !== 0 && !address.includes('%')
    return isPlain ? undefined : `is ${shown(address)}; allowed is an IPv4 or IPv6 address`
  }
  return isIP(address) === 4 ? undefined : `is ${shown(address)}; allowed is an IPv4 address`
}

/** No two daemons on one address and port. */
function checkListeners(
  addresses: Readonly<Record<string, string>>,
  settings: RenderSettings,
  daemons: readonly Daemon[],
  found: Found,
): void {
  const taken = new Map<string, Daemon>()
  for (const daemon of daemons) {
    for (const service of FACTS[daemon].services) {
      const { address, port } =
        service === 'metrics'
          ? metricsEndpoint(daemon, addresses, settings)
          : { address: addressOf(daemon, addresses), port: service }
      const place = `${address} ${service === 'metrics' ? `port ${port}` : service}`
      const other = taken.get(place)
      if (other !== undefined)
        found(`core_a.addresses.${daemon}`, `is ${shown(address)}, where ${other} listens too (${service})`)
      taken.set(place, daemon)
    }
  }
}

function checkPool(
  { apns, maxUes, addresses }: PlacedDesired,
  subnet: string,
  daemons: readonly Daemon[],
  found: Found,
): void {
  checkMaxUes(maxUes, found)
  const pool = parseRange(subnet)
  if (pool === undefined) {
    found('core_a.subnet', `is ${shown(subnet)}; allowed is a range such as 10.45.0.0/16 or fd00:45::/48`)
    return
  }
  if (!isNetwork(subnet, pool.network))
    found('core_a.subnet', `is ${shown(subnet)}, an address in ${rangeText(pool)}; write the range`)
  const { sessions } = pool.parts(Math.max(1, apns.length))
  if (sessions < maxUes)
    found(
      'core_a.subnet',
      `is ${shown(subnet)} with ${sessions} addresses for each of ${apns.length} APNs; allowed is a range for ${maxUes} phones`,
    )
  const inside = [...daemons, 's1u', 'n3'].filter((role) => {
    const address = isDaemon(role) ? addressOf(role, addresses) : addresses[role]
    return address !== undefined && pool.has(address)
  })
  for (const role of inside)
    found(
      `core_a.addresses.${role}`,
      `lies in core_a.subnet ${shown(subnet)}, whose addresses are the phones'`,
    )
}

/** Whether a range is written with its first address. */
function isNetwork(text: string, network: string): boolean {
  const [address = ''] = text.split('/')
  return parseRange(`${address}/${address.includes(':') ? 128 : 32}`)?.network === network
}

/** Daemons that read subscribers from the database themselves; their files may hold its password. */
const DATABASE_DAEMONS: readonly Daemon[] = ['hss', 'pcrf', 'udr', 'pcf']

const SECTIONS: Readonly<Record<Daemon, (plan: CorePlan) => Section>> = {
  mme: mmeSection,
  sgwc: sgwcSection,
  sgwu: sgwuSection,
  smf: smfSection,
  upf: upfSection,
  hss: hssSection,
  pcrf: pcrfSection,
  nrf: nrfSection,
  scp: scpSection,
  amf: amfSection,
  nssf: nssfSection,
  pcf: pcfSection,
  ausf: (plan) => plainSection(plan, 'ausf'),
  udm: udmSection,
  udr: (plan) => plainSection(plan, 'udr'),
  bsf: (plan) => plainSection(plan, 'bsf'),
}

/**
 * Every file of a core, `<daemon>.yaml` and `freeDiameter/<daemon>.conf`, for the generations in use.
 *
 * Pure: same input, same bytes. Throws `validation_failed` with one line per problem.
 */
export function renderCore(desired: PlacedDesired, settings: RenderSettings): Rendered {
  const plan = planFor(desired, settings)
  const files = new Map<string, string>()
  for (const daemon of plan.daemons) {
    files.set(`${daemon}.yaml`, yamlText(fileOf(daemon, plan)))
    if (speaksDiameter(daemon, plan)) files.set(diameterPath(daemon), diameterFile(daemon, plan))
  }
  if (plan.daemons.includes('udm'))
    for (const { id, pem } of settings.homeKeys) files.set(homeKeyPath(id), pem)
  return renderedOf(files)
}

/** The daemon that reads a file of the rendered set; undefined for a file that is none of it. */
export function daemonOfFile(path: string): Daemon | undefined {
  if (path.startsWith('hnet/')) return 'udm'
  const name = /^(?:freeDiameter\/)?([a-z]+)\.(?:yaml|conf)$/.exec(path)?.[1] ?? ''
  return isDaemon(name) ? name : undefined
}

function planFor(desired: PlacedDesired, settings: RenderSettings): CorePlan {
  const { addresses } = desired
  const generations = generationsOf({ ...settings, addresses })
  const daemons = daemonsOf(generations)
  const problems = problemsOf(desired, settings, generations, daemons)
  const pool = parseRange(settings.subnet)
  const dbUri = dbUriOf(settings.mongoUrl, addresses.mongo)
  if (problems.length > 0 || pool === undefined || dbUri === undefined) throw problemsError(problems)
  return {
    desired,
    settings,
    generations,
    daemons,
    pool,
    maxUe: maxUeOf(desired.maxUes),
    dbUri,
    at: (daemon) => addressOf(daemon, addresses),
    metrics: (daemon) => metricsEndpoint(daemon, addresses, settings),
  }
}

function fileOf(daemon: Daemon, plan: CorePlan): Section {
  return {
    ...(DATABASE_DAEMONS.includes(daemon) ? { db_uri: plan.dbUri } : {}),
    global: { max: { ue: plan.maxUe } },
    [daemon]: SECTIONS[daemon](plan),
  }
}
