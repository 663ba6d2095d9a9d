import type { Context } from '@steeple/contracts'
import { endContainer } from '../container/container-radio.ts'
import { radioContainer } from '../container/radio-container.ts'
import { endOrphans } from '../process/orphans.ts'

/**
 * Kills what an earlier run of the service has left behind: processes of this directory, and what runs in the container.
 *
 * Does nothing once that was done. Throws `southbound_unavailable` when it cannot be confirmed; then the next call tries.
 */
export function orphanSweep(
  context: Pick<Context, 'settings' | 'log'>,
  directory: string,
): () => Promise<void> {
  let hasSwept = false
  return async () => {
    if (hasSwept) return
    let ended = await endOrphans(directory)
    const { ran, hss } = context.settings
    if (ran.container !== '' && (await endContainer(radioContainer(hss.engine_socket, ran.container))))
      ended += 1
    hasSwept = true
    if (ended > 0)
      context.log.warn({ radios: ended }, 'radio of an earlier run was still there and has been killed')
  }
}
