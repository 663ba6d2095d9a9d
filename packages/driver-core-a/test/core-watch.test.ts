import type { CoreObserved, Settings } from '@steeple/contracts'
import { assert, defaultSettings, fakeContext, suite } from '@steeple/testkit'
import { coreWatch } from '../src/core-watch.ts'

const watch = suite('driver-core-a/core watch')
const patient = () => AbortSignal.timeout(60_000)

function watched(driver: Settings['southbound']['driver']): {
  readonly see: (state: 'up' | 'down') => void
  readonly told: () => Promise<string>
} {
  let state: 'up' | 'down' = 'down'
  const observe = async (): Promise<CoreObserved> => ({
    configSha256: undefined,
    services: new Map([['mme', state]]),
    radios: state === 'up' ? 1 : undefined,
    attachedUes: state === 'up' ? 2 : undefined,
  })
  const settings = { ...defaultSettings(), southbound: { driver } }
  const made = coreWatch(fakeContext({ id: 'driver-core-a', config: {}, settings }).context, {
    // Only what a watch asks.
    driver: { observe, ues: async () => [] } as never,
    places: () => ({ generations: ['epc'] }) as never,
    others: () => undefined,
  })
  return {
    see: (next) => {
      state = next
    },
    told: async () => {
      await made.look(patient())
      const { status, detail } = made.health()
      return `${status}: ${detail}`
    },
  }
}

watch('takes a box before its core for well, and a core that went away for down', async () => {
  const { see, told } = watched('none')
  assert.is(await told(), 'ok: no core answers, and none was seen since the start (epc)')
  see('up')
  assert.is(await told(), 'ok: 1 base stations, 2 phones attached (epc)')
  see('down')
  assert.is(await told(), 'down: down: mme (epc)')
})

watch('misses a core that it keeps from the first look on', async () => {
  assert.is(await watched('container').told(), 'down: down: mme (epc)')
})

watch('says how many phones there are now to who asks, not how many there were', async () => {
  let phones = 0
  const observe = async (): Promise<CoreObserved> => ({
    configSha256: undefined,
    services: new Map([['mme', 'up']]),
    radios: 1,
    attachedUes: phones,
  })
  const { context, clock } = fakeContext({ id: 'driver-core-a', config: {} })
  const made = coreWatch(context, {
    // Only what a watch asks.
    driver: { observe, ues: async () => [] } as never,
    places: () => ({ generations: ['epc'] }) as never,
    others: () => undefined,
  })
  await made.look(patient())
  phones = 3
  await clock.advance(1_001)
  assert.match((await made.freshHealth(patient())).detail, /^1 base stations, 3 phones attached/)
})

watch.run()
