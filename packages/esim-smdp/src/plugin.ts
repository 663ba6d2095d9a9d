import type { Context, Instance, Plugin } from '@steeple/contracts'
import type { EsimConfig } from './config.ts'
import { MIGRATIONS } from './migrations.ts'
import { CERTS, CODES, EUICCS, HELD, KEYS, NOTICES, SESSIONS } from './store/rows.ts'

/** Activation codes and an SM-DP+. */
export const plugin: Plugin<EsimConfig> = {
  migrations: MIGRATIONS,
  tables: [CODES, SESSIONS, EUICCS, HELD, NOTICES, CERTS, KEYS],
  setup: async (_context: Context<EsimConfig>): Promise<Instance> => ({ routes: [] }),
}
