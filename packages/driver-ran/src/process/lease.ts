import type { Duplex } from 'node:stream'
import { BEAT, RADIO_LINE } from './guard-script.ts'

/** A sign of life goes out this often at least, ms. */
const RENEW_MS = 500

/** Told of what the guard of a radio says. */
export interface LeaseListener {
  /** The radio's own process id. */
  radio(pid: number): void
  /** The guard has not answered for the whole of a lease: it would not end the radio either. */
  lost(): void
}

/** How long after a renewal the next one follows, ms: four fit into a lease. */
export function renewalMs(leaseMs: number): number {
  return Math.min(RENEW_MS, leaseMs / 4)
}

/** Renews the lease of a guard from the event loop until the function that it returns is called. */
export function renewLease(guard: Duplex, leaseMs: number, listener: LeaseListener): () => void {
  let unansweredMs: number | undefined
  let text = ''
  const beat = (): void => {
    const nowMs = performance.now()
    if (unansweredMs !== undefined && nowMs - unansweredMs > leaseMs) {
      listener.lost()
      return
    }
    unansweredMs ??= nowMs
    guard.write(BEAT)
  }
  guard.on('error', () => undefined) // the guard's end says it
  guard.on('data', (chunk: Buffer) => {
    unansweredMs = undefined
    text += chunk.toString('latin1')
    const lines = text.split('\n')
    text = lines.pop()?.slice(0, 64) ?? ''
    for (const line of lines) {
      const pid = RADIO_LINE.exec(line)?.[1]
      if (pid !== undefined) listener.radio(Number(pid))
    }
  })
  beat()
  const renewal = setInterval(beat, renewalMs(leaseMs)).unref()
  return () => {
    clearInterval(renewal)
    guard.destroy()
  }
}
