import type { TLSSocket } from 'node:tls'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { EdgeLimits } from '../edge-options.ts'
import type { ConnectionQueues } from '../host/connection-queue.ts'
import type { ClientCertificates } from './client-certificates.ts'

/**
 * Ends open connections whose certificates are revoked, expired or from a CA that is not believed any more, from now until
 * the signal aborts: after each commit, and by the clock since a certificate also ends by itself.
 *
 * One with a request under way has until the next look: the answer of a node's own `leave` goes out.
 */
export function endFallen(
  kernel: Pick<EdgeKernel, 'outbox' | 'clock' | 'log'>,
  certificates: Pick<ClientCertificates, 'fallen'>,
  queues: ConnectionQueues,
  limits: Pick<EdgeLimits, 'recheckMs' | 'certificatesMs'>,
  signal: AbortSignal,
): void {
  let isDue = false
  let isLooking = false
  let lookedMs = kernel.clock.monotonicMs()
  let doomed: ReadonlySet<TLSSocket> = new Set()
  const look = async (): Promise<void> => {
    const found = await certificates.fallen()
    const later = new Set<TLSSocket>()
    for (const socket of found) {
      if (queues.isIdle(socket) || doomed.has(socket)) socket.destroy()
      else later.add(socket)
    }
    doomed = later
    if (found.length > 0)
      kernel.log.info(
        { connections: found.length },
        'connections of certificates that are not believed ended',
      )
  }
  const lookWhenDue = async (): Promise<void> => {
    const nowMs = kernel.clock.monotonicMs()
    if (isLooking || (!isDue && doomed.size === 0 && nowMs - lookedMs < limits.certificatesMs)) return
    isLooking = true
    isDue = false
    lookedMs = nowMs
    try {
      await look()
    } catch (error) {
      kernel.log.warn({ err: error }, 'certificates of open connections could not be looked at')
    } finally {
      isLooking = false
    }
  }
  kernel.outbox.onCommit(() => {
    isDue = true
  }, signal)
  const timer = setInterval(() => void lookWhenDue(), limits.recheckMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
}
