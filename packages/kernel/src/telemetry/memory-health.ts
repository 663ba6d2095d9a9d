import { totalmem } from 'node:os'
import type { ComponentHealth } from '@steeple/contracts'

const MEBIBYTE = 1_048_576
/** Of what the process may take, what it takes when it is worth a word. */
const SHARE = 0.6

/** An installed plugin that was loaded since the start, and what the process took then. */
export interface LoadedThen {
  readonly id: string
  readonly rssBytes: number
  readonly isGone: boolean
}

/** What the process takes, and may take: the bound of its group (a unit's, a container's), or all of the machine. */
export function memoryNow(): { readonly rssBytes: number; readonly boundBytes: number } {
  const bound = process.constrainedMemory()
  const all = totalmem()
  return { rssBytes: process.memoryUsage.rss(), boundBytes: bound > 0 && bound < all ? bound : all }
}

/**
 * A component that says when the process takes much of what it may, and how much came since which installed plugin was loaded. That is all
 * that can be told: plugins share the memory of the process, and what one that left has taken is given back by a restart alone.
 */
export function memoryHealth(
  { rssBytes, boundBytes }: ReturnType<typeof memoryNow>,
  loaded: readonly LoadedThen[],
): readonly ComponentHealth[] {
  if (rssBytes < boundBytes * SHARE) return []
  const mebibytes = (bytes: number): number => Math.round(bytes / MEBIBYTE)
  const grown = loaded.map(
    ({ id, rssBytes: then, isGone }) =>
      `${mebibytes(rssBytes - then)} MiB since plugin ${id} was loaded${isGone ? ', which is gone: a restart gives back what it took' : ''}`,
  )
  const since = grown.length === 0 ? '' : `; it has grown by ${grown.join(', by ')}`
  const detail = `the service takes ${mebibytes(rssBytes)} of ${mebibytes(boundBytes)} MiB${since}`
  return [{ name: 'memory', kind: 'feature', status: 'degraded', detail }]
}
