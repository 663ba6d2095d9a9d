import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Suite } from '@steeple/testkit'
import { type Service, startService } from '../harness/service.ts'
import { APNS, CARD, coreServesCardsConformance, PLACE } from './cards-conformance.ts'
import { startCoreB, type TestCoreB } from './core-b-containers.ts'
import type { Slice } from './core-b-questions.ts'
import { coreInForce } from './core-health.ts'
import { startDatabase, type TestDatabase } from './database.ts'
import { type Engine, startPodman } from './engine.ts'
import { machineFolder } from './own-machine.ts'
import { allSynced, importCard } from './provisioning.ts'
import { startUserPlane } from './user-plane.ts'

const PATIENCE_MS = 180_000
const UPF = '127.0.0.8'

/** A release, and the slices that it is given. */
export interface CardsPlan {
  readonly release: string
  readonly slices: readonly Slice[]
}

/** Registers that a core of these functions serves a card, with what `more` starts beside its database. */
export async function cardsConformance(
  real: Suite,
  given: Parameters<typeof startCoreB>[1],
  plan: CardsPlan,
  more: (database: TestDatabase) => Promise<{ close(): void } | undefined> = async () => undefined,
): Promise<void> {
  const engine = await startPodman()
  const userPlane = await startUserPlane(UPF)
  const [core, database] = await Promise.all([startCoreB(engine, given), startDatabase()])
  let service: Service
  let beside: { close(): void } | undefined
  let hash: string
  real.before(
    async () => {
      service = await startCardsNode(engine, core, plan)
      await coreInForce(service, PATIENCE_MS)
      hash = await importCard(service, CARD, APNS.join(';'))
      await allSynced(service, PATIENCE_MS)
      beside = await more(database)
    },
    { limitMs: 3 * PATIENCE_MS },
  )
  real.after(
    async () => {
      await service?.stop()
      beside?.close()
      userPlane.close()
      await database.close()
      await engine.close()
    },
    { limitMs: 360_000 },
  )
  coreServesCardsConformance(real, {
    engine,
    containers: core.containers,
    service: () => service,
    hash: () => hash,
    database,
    userPlane,
    ...plan,
  })
}

/** Starts a node that drives `core` as a release. */
async function startCardsNode(
  engine: Engine,
  core: TestCoreB,
  { release, slices }: CardsPlan,
): Promise<Service> {
  const config = {
    core: 'core_b',
    plmn: PLACE,
    southbound: { driver: 'container' },
    hss: {
      driver: 'core_b',
      mongo_url: 'mongodb://127.0.0.1:27017/free5gc',
      engine_socket: engine.socket,
    },
    policy: { apns: APNS },
    sims: { drift_interval: '2s' },
    core_b: {
      config_dir: core.configDir,
      containers: core.containers,
      amf_oam_url: 'http://127.0.0.18:8000',
      slices,
      release,
      charging: false,
      oauth: false,
    },
  }
  const configFile = join(machineFolder(), 'control.yaml')
  writeFileSync(configFile, JSON.stringify(config))
  return await startService({ dataDir: join(machineFolder(), 'data'), flags: ['--config', configFile] })
}
