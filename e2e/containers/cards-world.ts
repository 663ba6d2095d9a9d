import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Service, startService } from '../harness/service.ts'
import { APNS, CARD, PLACE } from './cards-conformance.ts'
import type { TestCoreB } from './core-b-containers.ts'
import type { Slice } from './core-b-questions.ts'
import { coreInForce } from './core-health.ts'
import type { Engine } from './engine.ts'
import { machineFolder } from './own-machine.ts'
import { allSynced, importCard } from './provisioning.ts'

/** Starts a node that drives `core` as a release, and runs when `CARD` is in its database. */
export async function startCardsNode(
  engine: Engine,
  core: TestCoreB,
  { release, slices }: { readonly release: string; readonly slices: readonly Slice[] },
  limitMs: number,
): Promise<{ readonly service: Service; readonly importIt: () => Promise<string> }> {
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
  const service = await startService({
    dataDir: join(machineFolder(), 'data'),
    flags: ['--config', configFile],
  })
  return {
    service,
    importIt: async () => {
      await coreInForce(service, limitMs)
      const hash = await importCard(service, CARD, APNS.join(';'))
      await allSynced(service, limitMs)
      return hash
    },
  }
}
