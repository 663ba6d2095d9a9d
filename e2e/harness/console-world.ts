import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import { insertBatch, type LabProcess, startLabCore } from './lab-core.ts'
import { addPerson } from './people.ts'
import { done, type Service, type StartOptions, startService } from './service.ts'

/** A box with something on every page of its console, and a lab core beside it. */
export interface ConsoleWorld {
  readonly service: Service
  readonly lab: LabProcess
  /** The subscriber who is on, by the hash of the SIM. */
  readonly subscriber: string
  /** Stops the service, and starts it again at its address when `work` is done. */
  restart(work: () => void): Promise<void>
  close(): Promise<void>
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  /** More environment of the service. */
  readonly env?: Readonly<Record<string, string>>
  /** Label of the subscriber who is on; the others are `Harbour`. */
  readonly label?: string
  /** The configuration, in place of the usual one. */
  readonly config?: string
  /** What else the service is started with. */
  readonly start?: Pick<StartOptions, 'dataDir' | 'nodeFlags'>
}

const RADIO = `server: {country: DE}
ran:
  profiles:
    village: {technology: lte, channel: 1300, bandwidth_mhz: 10, eirp_dbm: 20}
    harbour: {technology: nr, channel: 630000, band: n78, bandwidth_mhz: 20}
`
const RULES = {
  spectrum: {
    allow_list: [{ technology: 'lte', band: 'b3', country: 'DE', earfcn_min: 1200, earfcn_max: 1500 }],
    license: { acknowledged: true, reference: 'L-2026-17', holder: 'Village network', expires_at: null },
  },
}

/** Starts it in `folder`, with cards, rules and a phone that is on. */
export async function consoleWorld(
  folder: string,
  { env = {}, label = 'School', config: text = RADIO, start = {} }: WorldOptions = {},
): Promise<ConsoleWorld> {
  const config = join(folder, 'control.yaml')
  writeFileSync(config, text)
  const lab = await startLabCore(join(folder, 'lab'))
  // Pictures name no folder of who took them.
  const dbctl = join(folder, 'open5gs-dbctl')
  symlinkSync(lab.env.SVC_HSS_DBCTL_PATH ?? '', dbctl)
  const options = {
    dataDir: join(folder, 'data'),
    flags: ['--config', config],
    ...start,
    env: {
      ...lab.env,
      SVC_HSS_DBCTL_PATH: dbctl,
      ...{ SVC_COLLECTOR_ENABLED: 'true', SVC_COLLECTOR_INTERVAL: '1s' },
      ...{ SVC_ALERTS_ENABLED: 'true', SVC_FAIRUSE_ENABLED: 'true' },
      ...env,
    },
  }
  let service = await startService(options)
  return {
    get service() {
      return service
    },
    lab,
    subscriber: await settle(service, lab, label),
    restart: async (work) => {
      const { adminToken, url } = service
      await service.stop()
      work()
      const flags = [...options.flags, '--listen', new URL(url).host]
      service = await startService({ ...options, adminToken, flags })
    },
    close: async () => {
      await service.stop()
      await lab.stop()
    },
  }
}

/** Rules, cards, and one of them in a phone that is on; gives the hash of its subscriber. */
async function settle(of: Service, lab: LabProcess, label: string): Promise<string> {
  await of.request('PUT', '/v1/policy', { body: RULES })
  await of.request('POST', '/v1/sims', { body: { count: 12, label: 'Harbour' } })
  const { body } = await of.request('POST', '/v1/sims', { body: { label } })
  const [sim] = body.sims
  await eventually(async () => {
    const { body: now } = await of.request('GET', `/v1/sims/${sim.imsi_sha256_12}`)
    if (now.provisioning.status !== 'synced') throw new Error('the core does not know the card yet')
  })
  await insertBatch(lab, of.dataDir, sim.batch_id)
  await eventually(async () => {
    const { body: now } = await of.request('GET', '/v1/sessions')
    if (now.sessions.length === 0) throw new Error('nobody is on yet')
  })
  return sim.imsi_sha256_12
}

/** Adds what there is beside cards and phones, so that no page is empty; gives an address for each page of one thing. */
export async function furnish(
  { service, subscriber }: ConsoleWorld,
  label: string,
): Promise<Readonly<Record<string, string>>> {
  const { id } = await addPerson(service, 'krbb', ['operator'])
  const changes: readonly (readonly [method: string, path: string, body?: object])[] = [
    ['POST', '/v1/users/invitations', { name: 'mswe', roles: ['admin', 'viewer'] }],
    ['POST', `/v1/sims/${subscriber}/quota`, { quota_bytes: 5_000_000_000 }],
    ['POST', '/v1/esim/certs/init', {}],
    ['POST', '/v1/esim/issue', { count: 2, label }],
    ['GET', '/v1/backup'],
  ]
  for (const [method, path, body] of changes) await done(service, method, path, body)
  return {
    '/sims/:hash': `/sims/${subscriber}`,
    '/people/:id': `/people/${id}`,
    '/plugins/:name': '/plugins/alerts',
  }
}
