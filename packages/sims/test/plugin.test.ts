import { vaultRef } from '@steeple/contracts'
import { fakeContext, featureConformance, memoryDb, tempDir } from '@steeple/testkit'
import type { SimsConfig } from '../src/config.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { plugin } from '../src/plugin.ts'
import { testVault } from './support/vault.ts'

const CONFIG: SimsConfig = {
  default_expiry: '1y',
  drift_interval: '5m',
  attach_interval: '5s',
  max_sims: 1_000,
  default_downlink_bps: 1_000,
  default_uplink_bps: 1_000,
  op_file: '',
}

featureConformance('sims', async () => {
  const db = memoryDb(MIGRATIONS)
  const dir = await tempDir()
  const services = new Map<string, object>([[vaultRef.id, testVault()]])
  return {
    plugin,
    context: () =>
      fakeContext<SimsConfig>({
        id: 'sims',
        config: CONFIG,
        db,
        services,
        settings: { server: { data_dir: dir.path } },
      }),
    close: async () => {
      db.close()
      await dir.remove()
    },
  }
})
