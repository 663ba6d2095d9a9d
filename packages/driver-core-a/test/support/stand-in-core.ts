import { type ListedCore, listedCore } from '@steeple/lab-core'
import { type Phone, pduItem, ueItem } from './phones.ts'
import { recordedItem, recording } from './recordings.ts'

/** The recorded page of metrics of each daemon; the MME's is a recorded exchange that begins like one. */
const METRICS_RECORDINGS = {
  mme: 'mme-http-zero-ue.txt',
  smf: 'smf-metrics.one-ue-attached.txt',
  amf: 'amf-metrics.5g-one-ue.txt',
  upf: 'upf-metrics.one-ue-attached.txt',
  hss: 'hss-metrics.one-ue-attached.txt',
  pcrf: 'pcrf-metrics.one-ue-attached.txt',
  pcf: 'pcf-metrics.5g-one-ue.txt',
} as const

/** The daemons of the stand-in that have an HTTP server. */
export type StandInDaemon = keyof typeof METRICS_RECORDINGS

/** A core whose lists are made of recordings. */
export interface StandInCore extends ListedCore<StandInDaemon> {
  readonly phones: Phone[]
  release: '2.8.0' | '2.7.7' | '2.7.6'
  /** The network that it serves, MCC and MNC; recordings are of 99970. */
  plmn: string
  /** eNBs and gNBs, by recorded entries. */
  readonly radios: Record<'mme' | 'amf', Record<string, unknown>[]>
}

const DAEMONS = Object.keys(METRICS_RECORDINGS) as StandInDaemon[] // its own keys

/** Starts the servers of all daemons on ports of their own. */
export async function standInCore(): Promise<StandInCore> {
  const served = await listedCore(DAEMONS, {
    metrics: (daemon) => recording(METRICS_RECORDINGS[daemon]),
    list: (daemon, path) => listOf(core, daemon, path),
    show: (item) => JSON.parse(JSON.stringify(item()).replaceAll('"99970"', `"${core.plmn}"`)),
  })
  const core: StandInCore = Object.assign(served, {
    phones: [],
    release: '2.8.0' as const,
    plmn: '99999',
    radios: {
      mme: [recordedItem('mme-enb-info.one-ue-connected.json.txt')],
      amf: [recordedItem('amf-gnb-info.registered-one-pdu.json.txt')],
    },
  })
  return core
}

/** The entries of a list, each to be made when its page is asked for. */
function listOf(
  { release, phones, radios }: StandInCore,
  daemon: StandInDaemon,
  path: string,
): readonly (() => unknown)[] | undefined {
  if (release === '2.7.6') return undefined
  const technology = daemon === 'mme' ? 'lte' : 'nr'
  if (path === '/ue-info' && (daemon === 'mme' || daemon === 'amf'))
    return phones.filter((one) => one.technology === technology).map((one) => () => ueItem(one, release))
  if (path === '/enb-info' && daemon === 'mme') return radios.mme.map((radio) => () => radio)
  if (path === '/gnb-info' && daemon === 'amf') return radios.amf.map((radio) => () => radio)
  if (path === '/pdu-info' && daemon === 'smf')
    return phones.filter((one) => one.hasSession).map((one) => () => pduItem(one))
  return undefined
}
