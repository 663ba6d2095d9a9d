import { type ListedCore, listedCore } from '@steeple/lab-core'
import { METRICS_RECORDINGS } from './metrics-recordings.ts'
import { type Phone, pduItem, ueItem } from './phones.ts'
import { recordedItem, recording } from './recordings.ts'

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
  const daemons = DAEMONS.map((daemon) => {
    const metrics = () => recording(METRICS_RECORDINGS[daemon])
    return [daemon, { metrics, list: (path: string) => entriesOf(core, daemon, path) }] as const
  })
  // Each of them is there.
  const shown = Object.fromEntries(daemons) as Parameters<typeof listedCore<StandInDaemon>>[0]
  const core: StandInCore = Object.assign(await listedCore(shown), {
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

function entriesOf(core: StandInCore, daemon: StandInDaemon, path: string): readonly unknown[] | undefined {
  const { release, plmn } = core
  const items = release === '2.7.6' ? undefined : listOf(core, daemon, path, release)
  return items && JSON.parse(JSON.stringify(items).replaceAll('"99970"', `"${plmn}"`))
}

function listOf(
  { phones, radios }: StandInCore,
  daemon: StandInDaemon,
  path: string,
  release: '2.8.0' | '2.7.7',
): readonly unknown[] | undefined {
  const technology = daemon === 'mme' ? 'lte' : 'nr'
  if (path === '/ue-info' && (daemon === 'mme' || daemon === 'amf'))
    return phones.filter((one) => one.technology === technology).map((one) => ueItem(one, release))
  if (path === '/enb-info' && daemon === 'mme') return radios.mme
  if (path === '/gnb-info' && daemon === 'amf') return radios.amf
  if (path === '/pdu-info' && daemon === 'smf') return phones.filter((one) => one.hasSession).map(pduItem)
  return undefined
}
