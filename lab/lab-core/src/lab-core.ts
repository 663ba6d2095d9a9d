import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type LabClock, machineClock } from './clock.ts'
import { controlServer } from './control/control-server.ts'
import { runDbctl } from './dbctl/commands.ts'
import { serveSocket } from './dbctl/socket-server.ts'
import { openEsims } from './esim/esims.ts'
import { openCapture } from './gtpu/capture.ts'
import { type GtpuPath, openPath } from './gtpu/path.ts'
import { makeTraffic, type Traffic } from './gtpu/traffic.ts'
import { type HssRequests, watchChanges } from './hss/change-stream.ts'
import { hssOver } from './hss/hss.ts'
import { delayedCounts, noS6aCounts, type S6aCounts } from './hss/s6a-counts.ts'
import { openDaemonLog } from './info/daemon-log.ts'
import { hssMetrics, pcrfMetrics } from './info/diameter-metrics.ts'
import { type InfoRoutes, infoServer } from './info/info-server.ts'
import { mmeMetrics, smfMetrics } from './info/metrics.ts'
import { enbInfo, ueInfo } from './info/mme-info.ts'
import { pageOf } from './info/page.ts'
import { pduInfo } from './info/smf-info.ts'
import { upfMetrics } from './info/upf-metrics.ts'
import { type Mme, makeMme } from './mme/mme.ts'
import type { Enb } from './mme/ue-context.ts'
import { type Fleet, makeFleet, type StoredPhone } from './phones/fleet.ts'
import { type PhoneTimers, REAL_TIMERS } from './phones/phone.ts'
import { type Sessions, sessionTable } from './smf/sessions.ts'
import type { Doc } from './store/ejson.ts'
import { openJournal } from './store/journal.ts'
import { type Subscribers, subscribersIn } from './store/subscribers.ts'

/** An address to listen on; port 0 takes a free one. */
export interface Listen {
  readonly host: string
  readonly port: number
}

/** What listens: the daemons that have a metrics server, and the control API. */
export type Place = 'mme' | 'smf' | 'upf' | 'hss' | 'pcrf' | 'control'

/** How a lab core is set up. */
export interface LabOptions {
  /** Holds its store and its socket; made when absent, for its owner alone. */
  readonly directory: string
  readonly listen: Readonly<Record<Place, Listen>>
  /** The ends of the tunnels. A tap looks for the usual port, 2152, alone. */
  readonly gtpu: Readonly<Record<'enb' | 'sgwu', Listen>>
  /** A file for a capture of them; none without. */
  readonly capture?: string | undefined
  readonly enb: Enb
  readonly clock?: LabClock
  readonly timers?: PhoneTimers
  /** One message over the air and through the core, ms. */
  readonly hopMs?: number
  /** Told what cannot be kept any more: the disk is full. */
  readonly failed?: (error: unknown) => void
}

/** A running lab core. */
export interface LabCore {
  /** Base addresses as they came out, `http://host:port`. */
  readonly urls: Readonly<Record<Place, string>>
  readonly subscribers: Subscribers
  readonly fleet: Fleet
  readonly mme: Mme
  readonly sessions: Sessions
  readonly traffic: Traffic
  readonly path: GtpuPath
  close(): Promise<void>
}

const HOP_MS = 10
/** How often the HSS takes its statistics, µs. */
const STATISTICS_US = 60_000_000

/** Starts a lab core. Throws when an address or the directory is in use, and leaves nothing behind then. */
export async function startLabCore(options: LabOptions): Promise<LabCore> {
  const { directory, clock = machineClock(), timers = REAL_TIMERS, hopMs = HOP_MS, enb } = options
  const { failed = () => undefined } = options
  const stop = new AbortController()
  const closers: (() => Promise<void>)[] = [async () => stop.abort()]
  const close = async (): Promise<void> => {
    for (const step of closers.splice(0).toReversed()) await step()
  }
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const documents = await openJournal<Doc>(join(directory, 'subscribers.jsonl'))
    closers.push(() => documents.close())
    const subscribers = subscribersIn(documents)
    const draw = (): string => randomBytes(12).toString('hex')
    const socket = await serveSocket(directory, (words) => runDbctl(words, { subscribers, draw }))
    closers.push(() => socket.close())
    const stored = await openJournal<StoredPhone>(join(directory, 'phones.jsonl'))
    closers.push(() => stored.close())
    const sessions = sessionTable()
    const counts = noS6aCounts()
    const log = openDaemonLog(join(directory, 'log'), 'mme')
    closers.push(async () => log.close())
    const hssLog = openDaemonLog(join(directory, 'log'), 'hss')
    closers.push(async () => hssLog.close())
    const hss = hssOver(subscribers, clock, counts, hssLog.write)
    const mme = makeMme({ enb, hss, sessions, clock, hopMs, log: log.write })
    void watchChanges(subscribers, counted(mme, counts), hss, clock, stop.signal)
    const fleet = makeFleet({ journal: stored, mme, sessions, clock, timers, failed })
    closers.push(async () => fleet.close())
    const capture = options.capture === undefined ? undefined : openCapture(options.capture, failed)
    closers.push(async () => capture?.close())
    const path = await openPath({
      radio: options.gtpu.enb,
      core: options.gtpu.sgwu,
      clock,
      sent: capture && ((from, to, frame) => capture.add(clock.nowUs(), from, to, frame)),
    })
    closers.push(() => path.close())
    const traffic = makeTraffic({ path, clock, bearerOf: (imsi) => mme.bearerOf(imsi), stop: stop.signal })
    const open = async (place: Place, server: Server): Promise<string> => {
      const url = await listening(server, options.listen[place])
      closers.push(async () => closed(server))
      return url
    }
    const esims = await openEsims({ directory, clock })
    closers.push(() => esims.close())
    const delayed = delayedCounts(counts, () => clock.nowUs(), STATISTICS_US)
    const urls = {
      mme: await open('mme', infoServer(mmeRoutes(mme))),
      smf: await open('smf', infoServer(smfRoutes(sessions))),
      upf: await open('upf', infoServer(metricsOnly(() => upfMetrics(sessions)))),
      hss: await open('hss', infoServer(metricsOnly(() => hssMetrics(delayed())))),
      pcrf: await open('pcrf', infoServer(metricsOnly(pcrfMetrics))),
      control: await open('control', controlServer({ fleet, mme, traffic, path, clock, esims })),
    }
    fleet.start()
    return { urls, subscribers, fleet, mme, sessions, traffic, path, close }
  } catch (error) {
    await close()
    throw error
  }
}

function mmeRoutes(mme: Mme): InfoRoutes {
  return {
    '/metrics': () => ({ kind: 'metrics', body: mmeMetrics(mme) }),
    '/ue-info': (query) => ({ kind: 'json', body: pageOf(ueInfo(mme), query) }),
    '/enb-info': (query) => ({ kind: 'json', body: pageOf(enbInfo(mme), query) }),
  }
}

function smfRoutes(sessions: Sessions): InfoRoutes {
  return {
    '/metrics': () => ({ kind: 'metrics', body: smfMetrics(sessions) }),
    '/pdu-info': (query) => ({ kind: 'json', body: pageOf(pduInfo(sessions), query) }),
  }
}

function metricsOnly(body: () => string): InfoRoutes {
  return { '/metrics': () => ({ kind: 'metrics', body: body() }) }
}

/** Requests of the HSS with their count. */
function counted(requests: HssRequests, counts: S6aCounts): HssRequests {
  return {
    cancelLocation: (imsi) => {
      counts.clr += 1
      requests.cancelLocation(imsi)
    },
    insertSubscriberData: (imsi, subscription) => {
      counts.idr += 1
      requests.insertSubscriberData(imsi, subscription)
    },
  }
}

async function listening(server: Server, { host, port }: Listen): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: taken } = server.address() as AddressInfo // of a TCP server that listens
  return `http://${address}:${taken}`
}

async function closed(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
}
