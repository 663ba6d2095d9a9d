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
import { watchChanges } from './hss/change-stream.ts'
import { hssOver } from './hss/hss.ts'
import { type InfoRoutes, infoServer } from './info/info-server.ts'
import { mmeMetrics, smfMetrics } from './info/metrics.ts'
import { enbInfo, ueInfo } from './info/mme-info.ts'
import { pageOf } from './info/page.ts'
import { pduInfo } from './info/smf-info.ts'
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

/** How a lab core is set up. */
export interface LabOptions {
  /** Holds its store and its socket; made when absent, for its owner alone. */
  readonly directory: string
  readonly mme: Listen
  readonly smf: Listen
  readonly control: Listen
  readonly enb: Enb
  readonly clock?: LabClock
  readonly timers?: PhoneTimers
  /** One message over the air and through the core, ms. */
  readonly hopMs?: number
}

/** A running lab core. */
export interface LabCore {
  /** Base addresses as they came out, `http://host:port`. */
  readonly urls: { readonly mme: string; readonly smf: string; readonly control: string }
  readonly subscribers: Subscribers
  readonly fleet: Fleet
  readonly mme: Mme
  readonly sessions: Sessions
  close(): Promise<void>
}

const HOP_MS = 10

/** Starts a lab core. Throws when an address or the directory is in use, and leaves nothing behind then. */
export async function startLabCore(options: LabOptions): Promise<LabCore> {
  const { directory, clock = machineClock(), timers = REAL_TIMERS, hopMs = HOP_MS, enb } = options
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
    const mme = makeMme({ enb, hss: hssOver(subscribers, clock), sessions, clock, hopMs })
    void watchChanges(subscribers, mme, clock, stop.signal)
    const fleet = makeFleet({ journal: stored, mme, sessions, clock, timers, failed: () => undefined })
    closers.push(async () => fleet.close())
    const open = async (server: Server, listen: Listen): Promise<string> => {
      const url = await listening(server, listen)
      closers.push(async () => closed(server))
      return url
    }
    const urls = {
      mme: await open(infoServer(mmeRoutes(mme)), options.mme),
      smf: await open(infoServer(smfRoutes(sessions)), options.smf),
      control: await open(controlServer({ fleet, mme, clock }), options.control),
    }
    fleet.start()
    return { urls, subscribers, fleet, mme, sessions, close }
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
