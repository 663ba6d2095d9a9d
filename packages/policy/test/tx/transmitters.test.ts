import { type ServiceRef, type Transmitter, transmitterRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { transmittersOf } from '../../src/tx/transmitters.ts'

const transmitters = suite('policy/transmitters')

function withTransmitter(transmitter: Transmitter | undefined): Parameters<typeof transmittersOf>[0] {
  return {
    maybe: <T extends object>(ref: ServiceRef<T>) =>
      ref.id === transmitterRef.id ? (transmitter as T | undefined) : undefined,
  }
}

async function codeOf(work: Promise<void>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return (error as { code?: unknown }).code
  }
  return 'nothing thrown'
}

transmitters('are not known to be off before they were asked', async () => {
  const none = transmittersOf(withTransmitter(undefined))
  assert.is(none.isOff(), false)
  await none.stop()
  assert.is(none.isOff(), true)
  none.allow()
  assert.is(none.isOff(), false)
})

transmitters('that fail, or ignore the bound, are not off', async () => {
  const failing = transmittersOf(withTransmitter({ stop: () => Promise.reject(new Error('no')) }), 20)
  assert.is(await codeOf(failing.stop()), 'southbound_unavailable')
  assert.is(failing.isOff(), false)
  const hanging = transmittersOf(withTransmitter({ stop: () => new Promise(() => undefined) }), 20)
  // AbortSignal.timeout does not keep the process alive by itself.
  const keepAlive = setTimeout(() => undefined, 2_000)
  assert.is(await codeOf(hanging.stop()), 'southbound_unavailable')
  clearTimeout(keepAlive)
  assert.is(hanging.isOff(), false)
})

transmitters('allowed again while they are being stopped are not known to be off', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = transmittersOf(withTransmitter({ stop: () => gate.promise }))
  const stopping = slow.stop()
  slow.allow()
  gate.resolve()
  await stopping
  assert.is(slow.isOff(), false)
})

transmitters.run()
