import type { Kernel } from '@steeple/kernel'

/** What the edge needs of the kernel. A test gives it a smaller one. */
export interface EdgeKernel
  extends Pick<
    Kernel,
    'settings' | 'log' | 'clock' | 'mutations' | 'outbox' | 'info' | 'service' | 'metricsText' | 'onSettings'
  > {
  readonly db: Pick<Kernel['db'], 'probe'>
  readonly registry: Pick<Kernel['registry'], 'list' | 'load' | 'unload' | 'reload'>
}
