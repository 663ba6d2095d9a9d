import { setTimeout as wait } from 'node:timers/promises'
import { assert, stretched } from '@steeple/testkit'
import { type Lab, nowMs } from './lab.ts'

/** When a disarm was asked for and answered, on the clock of the samples. */
export interface Disarm {
  readonly askedMs: number
  readonly answeredMs: number
}

/** A disarm: the gate is closed first, as policy does, then the transmitter is stopped. */
export async function disarm(lab: Lab): Promise<Disarm> {
  const askedMs = nowMs()
  lab.gate.disarm()
  await lab.supervisor.stop()
  return { askedMs, answeredMs: nowMs() }
}

/** Keeps the event loop from turning, and no processor busy: others run on it meanwhile. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** A disarm whose stop has just begun when the event loop stops turning for longer than the radio may go on. */
export async function disarmBlocked(lab: Lab): Promise<Disarm> {
  const askedMs = nowMs()
  lab.gate.disarm()
  const stopped = lab.supervisor.stop()
  block(1_500)
  assertOver(lab, askedMs)
  await stopped
  return { askedMs, answeredMs: nowMs() }
}

/** Not one sample more than a second after the question; how slow this machine is gets measured only where there was one. */
function assertOver(lab: Lab, askedMs: number): void {
  if (lab.samplesAfter(askedMs + 1_000) === 0) return
  assert.is(lab.samplesAfter(askedMs + stretched(1_000)), 0, 'samples more than a second after the disarm')
}

/** Not one sample after the answer, none more than a second (of an idle machine) after the question, and no process. */
export async function assertSilent(lab: Lab, { askedMs, answeredMs }: Disarm): Promise<void> {
  await wait(200)
  assert.is(lab.samplesAfter(answeredMs), 0, 'samples after the disarm was answered')
  assertOver(lab, askedMs)
  assert.is(lab.supervisor.snapshot().pid, undefined)
}
