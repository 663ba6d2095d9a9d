import type { Settings } from '@steeple/contracts'
import { hostText, runnersOf } from '@steeple/southbound'
import { metricsUrl, renderSettings } from './render/core-plan.ts'
import {
  addressOf,
  type Daemon,
  daemonsOf,
  type Generation,
  generationsOf,
  SBI_PORT,
} from './render/roles.ts'

/** Which daemons there are, and where they answer. */
export interface CorePlaces {
  readonly generations: readonly Generation[]
  readonly daemons: readonly Daemon[]
  /** This node's network, MCC and MNC in digits. */
  readonly plmn: string
  /** Whence phones get their addresses, CIDR. */
  readonly subnet: string
  readonly containers: Readonly<Record<string, string>>
  /** Role → address, where another than the stock one is in force. */
  readonly addresses: Readonly<Record<string, string>>
  /** Base URL of metrics server and info API. */
  readonly urlOf: (daemon: Daemon) => string
  /** The address of a daemon. */
  readonly at: (daemon: Daemon) => string
  /** Origin on the service bus. */
  readonly busOf: (daemon: Daemon) => string
}

/** The places as the configuration names them. */
export function corePlaces(settings: Settings): CorePlaces {
  const { addresses, subnet } = settings.core_a
  const rendered = renderSettings(settings)
  const generations = generationsOf({ ...rendered, addresses })
  return {
    generations,
    daemons: daemonsOf(generations),
    plmn: `${settings.plmn.mcc}${settings.plmn.mnc}`,
    subnet,
    containers: runnersOf(settings.southbound, settings.core_a),
    addresses,
    urlOf: (daemon) => metricsUrl(daemon, addresses, rendered),
    at: (daemon) => addressOf(daemon, addresses),
    busOf: (daemon) => `http://${hostText(addressOf(daemon, addresses))}:${SBI_PORT}`,
  }
}
