import type { Clock } from '@steeple/contracts'
import { openSecrets } from '@steeple/secrets'
import { findSections, loadConfig } from '@steeple/settings'
import type { Machine } from '../src/clock/clock-keeper.ts'
import type { Timers } from '../src/clock/deadline.ts'
import { systemClock } from '../src/clock/deadline.ts'
import type { Kernel } from '../src/create-kernel.ts'
import { createKernel } from '../src/create-kernel.ts'
import type { HttpEdge } from '../src/plugins/host.ts'
import { createLog } from '../src/telemetry/log.ts'
import type { LogSink } from '../src/telemetry/log-sink.ts'

const SILENT: LogSink = {
  write: () => undefined,
  flush: () => undefined,
  close: () => undefined,
}
const NO_EDGE: HttpEdge = { build: async (sets) => ({ sets }), swap: async () => undefined }

/** What of a start a test sets. */
export interface StartOptions {
  readonly clock?: Clock
  readonly timers?: Timers
  readonly machine?: Machine
  readonly buildDate?: string
  /** `store.url`. */
  readonly url?: string
  /** The configuration, as YAML. */
  readonly yaml?: string
  /** Package folders of the plugins of the build. */
  readonly packages?: readonly string[]
  /** `cluster.instance`. */
  readonly instance?: string
}

/** The real kernel on a data directory that has keys, without plugins, and without an edge to serve them. */
export async function startKernel(dataDir: string, options: StartOptions = {}): Promise<Kernel> {
  const { clock = systemClock(), url = '', instance = '', yaml = '{}', ...rest } = options
  const env = { SVC_SERVER_DATADIR: dataDir, SVC_STORE_URL: url, SVC_CLUSTER_INSTANCE: instance }
  const file = { env, readFile: () => yaml, file: '/none.yaml' }
  const { packages = [] } = options
  const kernel = await createKernel({
    config: loadConfig({ ...file, sections: findSections(file, { packages, known: [] }) }),
    secrets: openSecrets(dataDir),
    log: createLog({ level: 'error', format: 'json', clock, sink: SILENT }),
    clock,
    version: '0.0.0',
    ...rest,
    packages,
  })
  kernel.attach(NO_EDGE)
  return kernel
}
