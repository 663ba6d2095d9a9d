import { assert, suite } from '@steeple/testkit'
import type { CoreUrls } from '../../src/places.ts'
import { createHttpClient } from '../../src/sbi/http-client.ts'
import { functionStates, type WatchedCore } from '../../src/steer/function-states.ts'
import { patient } from '../support/clients.ts'
import { startStandInCore } from '../support/stand-in-core.ts'

const states = suite('driver-core-b/function-states')

states('misses a function where it has answered before, although nobody said where it is', async () => {
  const core = await startStandInCore()
  const http = createHttpClient({ answerMs: 30_000 })
  const of = (): string => core.urls.amf
  const urls: CoreUrls = { of, amf: of, smf: of, nrf: of, isNamed: () => false }
  const container = async () => undefined
  const watched: WatchedCore = {
    http,
    urls,
    hasCharging: () => false,
    container,
    restarted: () => new Map<string, string>(),
    answered: new Map(),
  }
  const seen = async (by: WatchedCore) => [...new Set((await functionStates(by, patient())).values())]
  try {
    assert.equal(await seen(watched), ['up', 'unknown'], 'the UPF answers nobody')
    await core.stop('amf')
    assert.equal(await seen(watched), ['down', 'unknown'])
    assert.equal(await seen({ ...watched, answered: new Map() }), ['unknown'])
    const elsewhere = { ...watched, urls: { ...urls, of: () => core.urls.smf.replace(/[0-9]+$/, '1') } }
    assert.equal(await seen(elsewhere), ['unknown'], 'it was never there')
  } finally {
    http.close()
    await core.close()
  }
})

states.run()
