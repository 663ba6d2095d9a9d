import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import { type Settings, sectionOf } from '@steeple/contracts'
import {
  type AddressRange,
  hostText,
  mongoUrlParts,
  type PlacedDesired,
  runnersOf,
} from '@steeple/southbound'
import { addressOf, type Daemon, type Generation, METRICS_PORT } from './roles.ts'

/** A home network key of the UDM: what conceals who a phone is. TS 33.501 annex C.3.4. */
interface HomeKey {
  readonly id: number
  /** 1: profile A (X25519). 2: profile B (P-256). */
  readonly scheme: 1 | 2
  /** The private key. It ends in a file for the UDM, and nowhere else. */
  readonly pem: string
}

/** Where a key is within the configuration directory. */
export function homeKeyPath(id: number): string {
  return `hnet/hnet-${id}.key`
}

/** The keys of the configuration that are there; `missing` names the files of those that are not. */
export async function homeKeys({ server, core_a }: Settings): Promise<{
  readonly keys: readonly HomeKey[]
  readonly missing: readonly string[]
}> {
  const keys: HomeKey[] = []
  const missing: string[] = []
  for (const { id, scheme } of core_a.hnet) {
    const path = join(server.data_dir, 'keys', `hnet-${id}.key`)
    try {
      keys.push({ id, scheme, pem: await readFile(path, 'utf8') })
    } catch {
      missing.push(path)
    }
  }
  return { keys, missing }
}

/** What a rendering depends on beside the desired state: parts of the configuration. */
export interface RenderSettings {
  readonly networkName: string
  /** Empty: those of the addresses. */
  readonly dns: readonly string[]
  readonly subnet: string
  readonly slices: Settings['core_a']['slices']
  readonly containers: Readonly<Record<string, string>>
  readonly configMount: string
  readonly ranProgram: 'srsenb' | 'gnb'
  readonly mmeUrl: string
  readonly smfUrl: string
  readonly amfUrl: string
  readonly homeKeys: readonly HomeKey[]
  /** May hold a password: it ends in files for their owner alone, and nowhere else. */
  readonly mongoUrl: string
}

/** The program of the radio; of a cell that runs by itself, the one that speaks as it does. */
function ranProgramOf({ program = 'srsenb', external }: Partial<Settings['ran']>): 'srsenb' | 'gnb' {
  if (program !== 'external') return program
  return external?.technology === 'nr' ? 'gnb' : 'srsenb'
}

export function renderSettings(settings: Settings, homeKeys: readonly HomeKey[] = []): RenderSettings {
  const { core_a } = settings
  // A build may go without the collector, whose keys were there first.
  const collector = sectionOf(settings, 'collector')
  const urlOf = (key: 'mme_url' | 'smf_url' | 'amf_url'): string => core_a[key] || (collector[key] ?? '')
  return {
    networkName: core_a.network_name,
    dns: core_a.dns,
    subnet: core_a.subnet,
    slices: core_a.slices,
    containers: runnersOf(settings.southbound, settings.core_a),
    configMount: core_a.config_mount,
    ranProgram: ranProgramOf(sectionOf(settings, 'ran')),
    mmeUrl: urlOf('mme_url'),
    smfUrl: urlOf('smf_url'),
    amfUrl: urlOf('amf_url'),
    mongoUrl: sectionOf(settings, 'hss').mongo_url ?? '',
    homeKeys,
  }
}

/** A checked configuration, ready to be written down. */
export interface CorePlan {
  readonly desired: PlacedDesired
  readonly settings: RenderSettings
  readonly generations: readonly Generation[]
  readonly daemons: readonly Daemon[]
  readonly pool: AddressRange
  readonly maxUe: number
  readonly dbUri: string
  readonly metrics: (daemon: Daemon) => Endpoint
  readonly at: (daemon: Daemon) => string
}

interface Endpoint {
  readonly address: string
  readonly port: number
}

/** The core's own default of `global.max.ue`. */
const STOCK_MAX_UE = 1024

/** Phones that have left or were refused, for which MME and AMF keep an entry. */
const GONE_MAX = 8_192

/**
 * `global.max.ue`: the phones that policy admits and as many again, but at most 8,192, never below the stock value.
 *
 * MME and AMF keep an entry for every phone that has ever tried, registered, gone or refused, and refuse everybody once
 * the table is full. The second part is for those; it is bounded, since the daemons set memory aside for each at once.
 */
export function maxUeOf(maxUes: number): number {
  return Math.max(STOCK_MAX_UE, maxUes + Math.min(maxUes, GONE_MAX))
}

type InfoUrls = Pick<RenderSettings, 'mmeUrl' | 'smfUrl' | 'amfUrl'>

/** Where the configuration says that the lists of a daemon are; empty when it does not. */
function configuredUrl(daemon: Daemon, { mmeUrl, smfUrl, amfUrl }: InfoUrls): string {
  const urls: Partial<Record<Daemon, string>> = { mme: mmeUrl, smf: smfUrl, amf: amfUrl }
  return urls[daemon] ?? ''
}

/**
 * Where the metrics server of a daemon listens: for MME, SMF and AMF where the configuration says, if that is written as an
 * address, for others on the daemon's own address.
 */
export function metricsEndpoint(
  daemon: Daemon,
  addresses: Readonly<Record<string, string>>,
  settings: InfoUrls,
): Endpoint {
  const own = { address: addressOf(daemon, addresses), port: METRICS_PORT }
  const url = URL.parse(configuredUrl(daemon, settings))
  // Behind HTTPS there is somebody else's proxy.
  if (url?.protocol !== 'http:') return own
  const port = url.port === '' ? 80 : Number(url.port)
  return { address: isIPv4(url.hostname) ? url.hostname : own.address, port }
}

/** The base URL of a daemon's info API and metrics. */
export function metricsUrl(
  daemon: Daemon,
  addresses: Readonly<Record<string, string>>,
  settings: InfoUrls,
): string {
  const configured = configuredUrl(daemon, settings)
  if (configured !== '') return configured.replace(/\/+$/, '')
  const { address, port } = metricsEndpoint(daemon, addresses, settings)
  return `http://${hostText(address)}:${port}`
}

const STOCK_DB_URI = 'mongodb://localhost/open5gs'

/**
 * The database as the core reaches it: `hss.mongo_url` with the host of `core_a.addresses.mongo`, and the stock database
 * name where the URL has none. Undefined when the URL cannot be read.
 */
export function dbUriOf(mongoUrl: string, host: string | undefined): string | undefined {
  const parts = mongoUrlParts(mongoUrl === '' ? STOCK_DB_URI : mongoUrl)
  if (parts === undefined) return undefined
  const { scheme, login, hosts, database, query } = parts
  const name = database === '' ? 'open5gs' : database
  return `${scheme}${login}${host === undefined ? hosts : hostText(host)}/${name}${query}`
}
