import { setTimeout as wait } from 'node:timers/promises'
import { isRecord, jsonIn } from '@steeple/contracts'
import type { RadioEvent } from '../stream/radio-event.ts'

/** Messages are at most so long; a longer one is dropped unread, characters. */
const MESSAGE_CHARACTERS = 1_000_000
const RETRY_MS = 2_000

/**
 * Listens to gnb's own metrics on its loopback WebSocket (gnb 25.10 on, OCUDU) until `signal` fires.
 *
 * An older gnb has none: then nothing is heard here, and its log is all there is. Never rejects.
 */
export async function watchGnbMetrics(
  port: number,
  heard: (event: RadioEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await listen(port, heard, signal)
    await wait(RETRY_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function listen(port: number, heard: (event: RadioEvent) => void, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`)
  const end = (): void => {
    socket.close()
    resolve()
  }
  signal.addEventListener('abort', end, { once: true })
  socket.addEventListener('open', () => socket.send(JSON.stringify({ cmd: 'metrics_subscribe' })))
  socket.addEventListener('message', ({ data }) => {
    if (signal.aborted || typeof data !== 'string' || data.length > MESSAGE_CHARACTERS) return
    for (const event of metricsEvents(data)) heard(event)
  })
  socket.addEventListener('close', () => resolve())
  socket.addEventListener('error', end)
  await promise
  signal.removeEventListener('abort', end)
}

/** What one message of the metrics says: NG down by `cu-cp`, phones by `cells`. Nothing for anything else. */
export function metricsEvents(text: string): readonly RadioEvent[] {
  const message = jsonIn(text)
  const events: RadioEvent[] = []
  const ngaps = at(message, 'cu-cp', 'ngaps', 'ngap')
  if (Array.isArray(ngaps)) {
    // What it calls connected is SCTP: an AMF that refuses the NG setup, or does not answer, counts as well.
    const isUp = ngaps.some((ngap) => at(ngap, 'connected') === true)
    if (!isUp) events.push({ kind: 'disconnected', reason: 'gnb says that NG is down', isVague: true })
  }
  const cells = at(message, 'cells')
  if (Array.isArray(cells)) {
    const phones = cells
      .map((cell) => at(cell, 'ue_list'))
      .filter(Array.isArray)
      .flat()
    events.push({ kind: 'ue_count', count: phones.length })
  }
  return events
}

function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((found, key) => (isRecord(found) ? found[key] : undefined), value)
}
