import type { Imsi } from '@steeple/contracts'
import { type FakeClock, fakeClock } from '@steeple/testkit'
import { type AmfClient, createAmfClient } from '../../src/amf/amf-client.ts'
import { createCaller } from '../../src/sbi/caller.ts'
import { createHttpClient, type HttpLimits } from '../../src/sbi/http-client.ts'
import { createTokenSource, type TokenSource } from '../../src/sbi/token-source.ts'
import { createSmfClient, type SmfClient } from '../../src/smf/smf-client.ts'
import { type StandInCore, startStandInCore } from './stand-in-core.ts'

/** A stand-in core and clients of it. */
export interface ClientFixture {
  readonly core: StandInCore
  readonly clock: FakeClock
  readonly amf: AmfClient
  readonly smf: SmfClient
  readonly tokens: TokenSource
}

/** Runs `work` with one, whatever happens. */
export async function withClients(
  work: (fixture: ClientFixture) => Promise<void>,
  limits: Partial<HttpLimits> = {},
): Promise<void> {
  const core = await startStandInCore()
  const clock = fakeClock()
  const http = createHttpClient(limits)
  const tokens = createTokenSource({ http, clock, nrfUrl: () => core.urls.nrf, requested: () => undefined })
  const caller = createCaller(http, tokens)
  try {
    await work({
      core,
      clock,
      tokens,
      amf: createAmfClient(caller, () => core.urls.amf),
      smf: createSmfClient(caller, () => core.urls.smf),
    })
  } finally {
    http.close()
    await core.close()
  }
}

/** The IMSI of a test subscriber. */
export function imsiOf(number: number): Imsi {
  return `99970${String(number).padStart(10, '0')}` as Imsi // 15 digits
}

export function refOf(number: number): string {
  return `urn:uuid:8f4b5b0a-2f0e-4d2e-9d5c-${String(number).padStart(12, '0')}`
}

/** Puts a registered phone with those sessions into the core. */
export function attach(core: StandInCore, imsi: Imsi, ...refs: readonly number[]): void {
  const sessions = refs.map((number) => ({ id: String(number), ref: refOf(number), dnn: 'internet' }))
  core.ues.set(`imsi-${imsi}`, { accesses: [{ isConnected: true, sessions }] })
  for (const { ref } of sessions) core.sessions.add(ref)
}

/** A signal that never fires. */
export function patient(): AbortSignal {
  return new AbortController().signal
}
