import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import { imsiHashOf } from './hss/sims.ts'
import { type LabPhone, type LabProcess, labPhones, startLabCore } from './lab-core.ts'
import { type Answer, done, exportedCards, type Service, type StartOptions, startService } from './service.ts'

/*
 * A lab core at its usual addresses and a service that counts what its phones move, as `npm start` has them; in a network of
 * their own (`enterOwnNetwork`).
 */

/** Octets each way. */
export interface Octets {
  readonly up: number
  readonly down: number
}

/** A card as it is exported. */
export interface Card {
  readonly imsi: string
  /** The SIM's public identifier. */
  readonly hash: string
}

/** The two, and what is asked of them most. */
export interface MeteredLab {
  lab: LabProcess
  service: Service
  /** kill -9, and another one with what is kept. */
  restartService(): Promise<void>
  restartLab(): Promise<void>
  /** SIMs that the core has. */
  issue(count: number): Promise<readonly Card[]>
  /** Puts cards into phones; once all of them are on. */
  insert(cards: readonly Card[]): Promise<void>
  phone(hash: string, action?: string, body?: object): Promise<LabPhone>
  phones(): Promise<readonly LabPhone[]>
  get(path: string): Promise<Answer['body']>
  post(path: string, body?: object): Promise<Answer['body']>
  /** What the ledger has of a SIM. */
  used(hash: string): Promise<Octets>
  /** What its phone has moved. */
  moved(hash: string): Promise<Octets>
  close(): Promise<void>
}

/** How often the service looks at the lab. */
export const INTERVAL_MS = 1_000

/** SIMs that are issued an hour at most. */
const MANY = 10_000
const ADMIN = 'metered-lab-admin-token-0123456789'
/** What a service needs to count on the loopback interface and to keep quotas. */
export const METERED: Readonly<Record<string, string>> = {
  SVC_COLLECTOR_ENABLED: 'true',
  SVC_COLLECTOR_INTERVAL: `${INTERVAL_MS}ms`,
  SVC_COLLECTOR_UPF_ENABLED: 'true',
  SVC_COLLECTOR_UPF_IFACE: 'lo',
  SVC_COLLECTOR_UPF_CORE_ADDRESSES: '127.0.0.6',
  SVC_FAIRUSE_ENABLED: 'true',
}

/** Starts both. `folder` holds what they keep. */
export async function startMeteredLab(folder: string, options: StartOptions = {}): Promise<MeteredLab> {
  const labFolder = join(folder, 'lab-core')
  const dataDir = join(folder, 'data')
  const lab = await startLabCore(labFolder, [])
  const env = { ...lab.env, ...METERED, ...options.env }
  const start = (): Promise<Service> => startService({ adminToken: ADMIN, ...options, dataDir, env })
  const { control } = lab.urls
  const ask = (method: string, path: string, body?: object) => done(both.service, method, path, body)
  const both: MeteredLab = {
    lab,
    service: await start().catch(async (error) => {
      // What runs without anybody who knows of it keeps the test from ending.
      await lab.kill()
      throw error
    }),
    restartService: async () => {
      await both.service.kill()
      both.service = await start()
    },
    restartLab: async () => {
      await both.lab.kill()
      both.lab = await startLabCore(labFolder, [])
    },
    issue: async (count) => {
      const rates = { rate_limits: { sim_issue_per_hour: MANY } }
      await both.service.request('PUT', '/v1/policy', { body: rates })
      const { batch_id: batch } = await ask('POST', '/v1/sims', { count })
      await eventually(async () =>
        (await everySim(both)).every((sim) => sim.provisioning.status === 'synced'),
      )
      return JSON.parse(await exportedCards(dataDir, batch, lab.env)).map((card: Omit<Card, 'hash'>) => ({
        ...card,
        hash: imsiHashOf(card.imsi),
      }))
    },
    insert: async (cards) => {
      await labPhones(control, 'POST', '/phones', JSON.stringify(cards))
      await eventually(async () => (await labPhones(control)).every(({ state }) => state === 'connected'))
    },
    phone: async (hash, action, body = {}) => {
      const path = `/phones/${hash}`
      const phones =
        action === undefined
          ? await labPhones(control, 'GET', path)
          : await labPhones(control, 'POST', `${path}/${action}`, JSON.stringify(body))
      if (phones[0] === undefined) throw new Error(`no phone ${hash}`)
      return phones[0]
    },
    phones: () => labPhones(control),
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
    used: async (hash) => {
      const usage = await ask('GET', `/v1/sims/${hash}/usage`)
      return { up: usage.up_bytes, down: usage.down_bytes }
    },
    moved: async (hash) => {
      const { total } = await both.phone(hash)
      return { up: total.up_bytes, down: total.down_bytes }
    },
    close: async () => {
      await both.service.stop()
      await both.lab.stop()
    },
  }
  return both
}

/** What a service says of itself: octets that it has counted, those whose session it has not seen, and sessions. */
export function measuredIn(metrics: string): Readonly<Record<'counted' | 'held' | 'sessions', number>> {
  const of = (name: string): number =>
    metrics
      .split('\n')
      .filter((line) => line.startsWith(name))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  return {
    counted: of('svc_sessions_bytes_total{'),
    held: of('svc_sessions_held_bytes '),
    sessions: of('svc_sessions_active{'),
  }
}

interface SimRecord {
  readonly provisioning: { readonly status: string }
}

async function everySim(lab: MeteredLab): Promise<readonly SimRecord[]> {
  const found: SimRecord[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = await lab.get(`/v1/sims?limit=500${more}`)
    found.push(...page.sims)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
}
