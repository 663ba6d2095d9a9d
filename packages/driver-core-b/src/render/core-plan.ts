import { type Settings, sectionOf } from '@steeple/contracts'
import { mongoUrlParts, type PlacedDesired } from '@steeple/southbound'
import type { FunctionAddresses, NetworkFunction } from './functions.ts'

/** What the installed release of free5GC understands. */
interface ReleaseTraits {
  /** Before 3.4.3 AMF and SMF end with a file in which a slice has no differentiator. */
  readonly wantsDifferentiators: boolean
  /** The SMF of 3.4.1 and 3.4.2 takes the first CHF that it finds, and ends its handling of a session when there is none. */
  readonly wantsCharging: boolean
  /** From 4.2.3 on, callbacks are services of their own: unlisted, nobody gets a token for them. Older ones stop at them. */
  readonly listsCallbacks: boolean
  /** From 4.1.0 on there is a metrics server. */
  readonly hasMetrics: boolean
}

/** What a release such as `4.2.3` understands; undefined when the text names none of 3.4.0 or later. */
export function releaseTraits(text: string): ReleaseTraits | undefined {
  if (!/^[0-9]{1,2}([.][0-9]{1,2}){2}$/.test(text)) return undefined
  const number = text.split('.').reduce((sum, part) => sum * 100 + Number(part), 0)
  if (number < 30_400) return undefined
  return {
    wantsDifferentiators: number < 30_403,
    wantsCharging: number === 30_401 || number === 30_402,
    listsCallbacks: number >= 40_203,
    hasMetrics: number >= 40_100,
  }
}

/** What a rendering depends on beside the desired state: parts of the configuration. */
export interface RenderSettings {
  readonly subnet: string
  readonly slices: Settings['core_b']['slices']
  readonly release: string
  readonly oauth: boolean
  readonly charging: boolean
  /** May hold a password: it ends in files for their owner alone, and nowhere else. */
  readonly mongoUrl: string
}

export function renderSettings(settings: Settings): RenderSettings {
  const { core_b } = settings
  return {
    subnet: core_b.subnet,
    slices: core_b.slices,
    release: core_b.release,
    oauth: core_b.oauth,
    charging: core_b.charging,
    mongoUrl: sectionOf(settings, 'hss').mongo_url ?? '',
  }
}

/** The sessions of one slice and DNN, and the addresses that they get. */
export interface SessionPool {
  readonly sst: number
  readonly sd: string | undefined
  readonly dnn: string
  readonly cidr: string
}

/** A checked configuration, ready to be written down. */
export interface CorePlan {
  readonly desired: PlacedDesired
  readonly settings: RenderSettings
  readonly functions: readonly NetworkFunction[]
  readonly places: FunctionAddresses
  readonly pools: readonly SessionPool[]
  readonly database: Database
  readonly release: ReleaseTraits
}

/** The document store that NRF, UDR, PCF and CHF use. */
interface Database {
  readonly url: string
  readonly name: string
}

const STOCK_URL = 'mongodb://localhost:27017'
const STOCK_NAME = 'free5gc'

/**
 * The database as the core reaches it: `hss.mongo_url` with the host of `core_b.addresses.mongo`, named `free5gc` where
 * the URL names none. Undefined when the URL cannot be read.
 */
export function databaseOf(mongoUrl: string, host: string | undefined): Database | undefined {
  const parts = mongoUrlParts(mongoUrl === '' ? STOCK_URL : mongoUrl)
  if (parts === undefined) return undefined
  const { scheme, login, query } = parts
  const name = parts.database === '' ? STOCK_NAME : parts.database
  const place = host ?? parts.hosts
  // Who logs in is looked up in the database that the URL names, so it stays in it.
  const database = login === '' && query === '' ? '' : `/${name}`
  return { url: `${scheme}${login}${place}${database}${query}`, name }
}
