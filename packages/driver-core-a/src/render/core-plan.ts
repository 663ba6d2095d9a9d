import { isIPv4 } from 'node:net'
import type { CoreDesired, Settings } from '@steeple/contracts'
import { type AddressRange, hostText } from './address-range.ts'
import { addressOf, type Daemon, type Generation, METRICS_PORT } from './roles.ts'

/** What a rendering depends on beside the desired state: parts of the configuration. */
export interface RenderSettings {
  readonly subnet: string
  readonly slices: Settings['core_a']['slices']
  readonly containers: Readonly<Record<string, string>>
  readonly configMount: string
  readonly ranProgram: 'srsenb' | 'gnb'
  readonly mmeUrl: string
  readonly smfUrl: string
  /** May hold a password: it ends in files for their owner alone, and nowhere else. */
  readonly mongoUrl: string
}

/** Those parts of a configuration. */
export function renderSettings(settings: Settings): RenderSettings {
  const { core_a, collector, hss, ran } = settings
  return {
    subnet: core_a.subnet,
    slices: core_a.slices,
    containers: core_a.containers,
    configMount: core_a.config_mount,
    ranProgram: ran.program,
    mmeUrl: collector.mme_url,
    smfUrl: collector.smf_url,
    mongoUrl: hss.mongo_url,
  }
}

/** A checked configuration, ready to be written down. */
export interface CorePlan {
  readonly desired: CoreDesired
  readonly settings: RenderSettings
  readonly generations: readonly Generation[]
  readonly daemons: readonly Daemon[]
  readonly pool: AddressRange
  readonly maxUe: number
  readonly dbUri: string
  readonly metrics: (daemon: Daemon) => Endpoint
  readonly at: (daemon: Daemon) => string
}

/** Where something listens. */
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** The core's own default of `global.max.ue`. */
const STOCK_MAX_UE = 1024

/**
 * `global.max.ue`: twice the phones that policy admits, never below the stock value.
 *
 * MME and AMF keep an entry for every phone that has ever tried, registered, gone or refused, and refuse everybody once
 * the table is full. The second half is for those.
 */
export function maxUeOf(maxUes: number): number {
  return Math.max(STOCK_MAX_UE, 2 * maxUes)
}

/**
 * Where the metrics server of a daemon listens: for MME and SMF where the collector looks for it, if that is written
 * as an address, for others on the daemon's own address.
 */
export function metricsEndpoint(
  daemon: Daemon,
  addresses: Readonly<Record<string, string>>,
  { mmeUrl, smfUrl }: Pick<RenderSettings, 'mmeUrl' | 'smfUrl'>,
): Endpoint {
  const own = { address: addressOf(daemon, addresses), port: METRICS_PORT }
  const text = daemon === 'mme' ? mmeUrl : daemon === 'smf' ? smfUrl : ''
  const url = text === '' ? null : URL.parse(text)
  // Behind HTTPS there is somebody else's proxy.
  if (url?.protocol !== 'http:') return own
  const port = url.port === '' ? 80 : Number(url.port)
  return { address: isIPv4(url.hostname) ? url.hostname : own.address, port }
}

/** The base URL of a daemon's info API and metrics. */
export function metricsUrl(
  daemon: Daemon,
  addresses: Readonly<Record<string, string>>,
  settings: Pick<RenderSettings, 'mmeUrl' | 'smfUrl'>,
): string {
  const configured = daemon === 'mme' ? settings.mmeUrl : daemon === 'smf' ? settings.smfUrl : ''
  if (configured !== '') return configured.replace(/\/+$/, '')
  const { address, port } = metricsEndpoint(daemon, addresses, settings)
  return `http://${hostText(address)}:${port}`
}

const STOCK_DB_URI = 'mongodb://localhost/open5gs'
const MONGO_URL = /^(mongodb(?:\+srv)?:\/\/)((?:[^/?#]*@)?)([^/?#@]+)(?:\/([^?#]*))?(\?[^#]*)?$/

/**
 * The database as the core reaches it: `hss.mongo_url` with the host of `core_a.addresses.mongo`, and the stock database
 * name where the URL has none. Undefined when the URL cannot be read.
 */
export function dbUriOf(mongoUrl: string, host: string | undefined): string | undefined {
  const match = MONGO_URL.exec(mongoUrl === '' ? STOCK_DB_URI : mongoUrl)
  if (match === null) return undefined
  const [, scheme = '', login = '', hosts = '', database = '', query = ''] = match
  const name = database === '' ? 'open5gs' : database
  return `${scheme}${login}${host === undefined ? hosts : hostText(host)}/${name}${query}`
}
