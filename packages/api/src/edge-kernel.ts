import type { Kernel } from '@steeple/kernel'

/** What the edge needs of the kernel. A test gives it a smaller one. */
export interface EdgeKernel
  extends Pick<
    Kernel,
    | 'settings'
    | 'log'
    | 'clock'
    | 'mutations'
    | 'outbox'
    | 'info'
    | 'service'
    | 'metricsText'
    | 'metricsRevision'
    | 'features'
    | 'settingsInForce'
    | 'onSettings'
  > {
  readonly tracing?: Kernel['tracing']
  readonly db: Pick<Kernel['db'], 'probe' | 'mayMissRows'>
  readonly registry: Pick<
    Kernel['registry'],
    | 'secrets'
    | 'writeSecret'
    | 'install'
    | 'list'
    | 'load'
    | 'unload'
    | 'reload'
    | 'disable'
    | 'enable'
    | 'uninstall'
  >
}
