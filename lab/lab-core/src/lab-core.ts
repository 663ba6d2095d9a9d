import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type LabClock, machineClock } from './clock.ts'
import { controlServer } from './control/control-server.ts'
import { type Ran, runDbctl } from './dbctl/commands.ts'
import { openEsims } from './esim/esims.ts'
import { openCapture } from './gtpu/capture.ts'
import { type GtpuPath, openPath } from './gtpu/path.ts'
import { makeTraffic, type Traffic } from './gtpu/traffic.ts'
import { delayedCounts, hssOver, noS6aCounts, watchChanges } from './hss/hss.ts'
import { openDaemonLog } from './info/daemon-log.ts'
import {
  closed,
  type InfoRoutes,
  infoServer,
  type Json,
  type Listen,
  type Listing,
  listening,
  pageOf,
} from './info/info-server.ts'
import { hssMetrics, mmeMetrics, pcrfMetrics, smfMetrics, upfMetrics } from './info/metrics.ts'
import { type Enb, type Mme, makeMme, type UeContext } from './mme/mme.ts'
import { type Fleet, makeFleet, type StoredPhone } from './phones/fleet.ts'
import { type PhoneTimers, REAL_TIMERS } from './phones/phone.ts'
import { type Session, type Sessions, sessionTable } from './smf/sessions.ts'
import type { Doc } from './store/ejson.ts'
import { openJournal } from './store/journal.ts'
import { type Subscribers, subscribersIn } from './store/subscribers.ts'

/** A place to listen or connect at. */
interface SocketPlace {
  readonly path: string
  close(): Promise<void>
}

const NAME = 'dbctl.sock'
/** The longest path that a socket can have on Linux, with its closing zero octet. See unix(7). */
const PATH_MAX = 107

/** Where the socket of a directory is. A directory with a long name is reached through a handle of it. */
async function socketPlace(directory: string): Promise<SocketPlace> {
  const path = join(directory, NAME)
  if (Buffer.byteLength(path) <= PATH_MAX) return { path, close: async () => undefined }
  const handle: FileHandle = await open(directory, 'r')
  return { path: `/proc/self/fd/${handle.fd}/${NAME}`, close: () => handle.close() }
}

/**
 * Serves the tool on the socket in `directory`, for its owner alone: a JSON list of words a line, answered by a JSON
 * object `{code, output}` a line, in order. Throws when another lab core serves that directory.
 */
async function serveSocket(
  directory: string,
  run: (words: readonly string[]) => Promise<Ran>,
): Promise<{ close(): Promise<void> }> {
  const place = await socketPlace(directory)
  if (await isServed(place.path)) throw new Error(`another lab core runs on ${directory}`)
  await rm(place.path, { force: true })
  const sockets = new Set<Socket>()
  // The tool says all it has to say and then listens.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
    void serveLines(socket, run).catch(() => socket.destroy())
  })
  server.listen(place.path)
  await once(server, 'listening')
  await chmod(place.path, 0o600)
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await rm(place.path, { force: true })
      await place.close()
    },
  }
}

/** All lines of a moment are run at once, so that they become durable together; their order holds. */
async function serveLines(socket: Socket, run: (words: readonly string[]) => Promise<Ran>): Promise<void> {
  let last: Promise<void> = Promise.resolve()
  for await (const line of createInterface({ input: socket })) {
    const ran = run(wordsIn(line))
    last = Promise.all([ran, last]).then(([answer]) => {
      socket.write(`${JSON.stringify(answer)}\n`)
    })
    last.catch(() => socket.destroy())
  }
  await last
  socket.end()
}

function wordsIn(line: string): readonly string[] {
  const words: unknown = JSON.parse(line)
  return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : []
}

async function isServed(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** What listens: the daemons that have a metrics server, and the control API. */
type Place = 'mme' | 'smf' | 'upf' | 'hss' | 'pcrf' | 'control'

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
    void watchChanges({ subscribers, requests: mme, hss, counts, clock, signal: stop.signal })
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
      closers.push(() => closed(server))
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

/** `/pdu-info` of an SMF. */
function pduInfo(sessions: Sessions): Listing<Session> {
  return { path: '/pdu-info', hasAllAtOnce: false, items: sessions.list(), show: sessionItem }
}

function sessionItem({ imsi, apn, ebi, qci, lease: { ipv4, ipv6 } }: Session): Json {
  const pdu = {
    ebi,
    apn,
    ...(ipv4 === undefined ? {} : { ipv4 }),
    ...(ipv6 === undefined ? {} : { ipv6 }),
    snssai: { sst: 0, sd: '000000' },
    qos_flows: [{ ebi, qci }],
    pdu_state: 'unknown',
    ue_location_timestamp: 0,
  }
  return { supi: `imsi-${imsi}`, pdu: [pdu], ue_activity: 'unknown' }
}

/** `/ue-info` of an MME: every phone it has seen, gone and rejected ones included. */
function ueInfo({ enb, contexts }: Mme): Listing<UeContext> {
  return { path: '/ue-info', hasAllAtOnce: false, items: contexts(), show: (context) => ueItem(context, enb) }
}

/** `/enb-info` of an MME. */
function enbInfo(mme: Mme): Listing<Enb> {
  return {
    path: '/enb-info',
    hasAllAtOnce: true,
    items: mme.isRadioUp ? [mme.enb] : [],
    show: (enb) => enbItem(enb, mme),
  }
}

function ueItem(context: UeContext, enb: Enb): Json {
  const { isConnected, session } = context
  return {
    supi: context.imsi,
    domain: 'EPS',
    rat: 'E-UTRA',
    cm_state: isConnected ? 'connected' : 'idle',
    mm_state: context.state,
    enb: {
      ostream_id: context.ostreamId,
      ...(isConnected ? { mme_ue_ngap_id: context.mmeUeId, ran_ue_ngap_id: context.enbUeId } : {}),
      enb_id: enb.enbId,
      cell_id: enb.cellId,
      ...(isConnected ? {} : { status: 'not-connected' }),
    },
    location: {
      tai: { plmn: enb.plmn, tac_hex: tacHex(enb), tac: enb.tac },
      timestamp: context.locatedAtUs,
    },
    ambr: { downlink: context.ambr.downlink, uplink: context.ambr.uplink },
    pdn: session === undefined ? [] : [pdnItem(session)],
    pdn_count: session === undefined ? 0 : 1,
  }
}

function pdnItem({ apn, ebi, qci }: Session): Json {
  return { apn, qos_flows: [{ ebi }], qci, ebi, bearer_count: 1, pdu_state: 'active' }
}

function enbItem(enb: Enb, { contexts, lastOstreamId }: Mme): Json {
  return {
    enb_id: enb.enbId,
    name: '',
    plmn: enb.plmn,
    network: { mme_name: '' },
    s1: {
      setup_success: true,
      sctp: { peer: enb.peer, max_out_streams: enb.maxOutStreams, next_ostream_id: lastOstreamId },
    },
    supported_ta_list: [{ tac: tacHex(enb), plmn: enb.plmn }],
    num_connected_ues: contexts().filter(({ isConnected }) => isConnected).length,
  }
}

function tacHex({ tac }: Enb): string {
  return tac.toString(16).toUpperCase().padStart(4, '0')
}
