import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '@steeple/contracts'
import type { Blame, Hang } from './blame.ts'

/** What a process writes down of itself before it is ended since its event loop does not turn: `{uptime_ms, frames, …}`. */
export function hangNoteOf(pluginsDir: string): string {
  return join(pluginsDir, 'hang.json')
}

/** Has the plugin blamed that kept the process before from turning its event loop, and says so. The note goes. */
export function sayHang(log: Log, pluginsDir: string, blame: Pick<Blame, 'onHang'>): void {
  const path = hangNoteOf(pluginsDir)
  const hang = readHang(path)
  if (hang === undefined) return
  const folders = blame.onHang(hang)
  rmSync(path, { force: true })
  const remedy =
    folders.length === 0
      ? {}
      : { remedy: 'the second time in a row the start goes without it; svc plugin disable leaves it out' }
  log.error(
    { plugin_folders: folders, frames: hang.frames.slice(0, 5), ...remedy },
    'the service was ended: its event loop did not turn any more',
  )
}

function readHang(path: string): Hang | undefined {
  try {
    const { uptime_ms: uptimeMs, frames } = Object(JSON.parse(readFileSync(path, 'utf8'))) as Record<
      string,
      unknown
    >
    const isHang = typeof uptimeMs === 'number' && Array.isArray(frames)
    return isHang ? { uptimeMs, frames: frames.map(String) } : undefined
  } catch {
    return undefined
  }
}
