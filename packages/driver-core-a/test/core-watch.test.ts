import { type CoreObserved, ranDriverRef, type Settings } from '@steeple/contracts'
import { assert, defaultSettings, fakeContext, patient, suite } from '@steeple/testkit'
import { coreWatch } from '../src/plugin.ts'

const watch = suite('driver-core-a/core watch')

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
      const daemons = made.health().find(({ name }) => name === 'daemons')
      return `${daemons?.status}: ${daemons?.detail}`
    },
  }
}

watch('takes a box before its core for well, and a core that went away for down', async () => {
  const { see, told } = watched('none')
  assert.is(await told(), 'ok: no core answers, and none was seen since the start (epc)')
  see('up')
  assert.is(await told(), 'ok: 1 base station, 2 phones attached (epc)')
  see('down')
  assert.is(await told(), 'down: down: mme (epc)')
})

watch('misses a core that it keeps from the first look on', async () => {
  assert.is(await watched('container').told(), 'down: down: mme (epc)')
})

watch('says that a core serves another network alone, and that one that complains is there', async () => {
  let seen: CoreObserved = {
    configSha256: undefined,
    services: new Map([['mme', 'up']]),
    radios: 1,
    attachedUes: 1,
  }
  let others: string | undefined
  let problem: Error | undefined
  const made = coreWatch(fakeContext({ id: 'driver-core-a', config: {} }).context, {
    // Only what a watch asks.
    driver: {
      observe: async () => seen,
      ues: async () => {
        if (problem !== undefined) throw problem
        return []
      },
    } as never,
    places: () => ({ generations: ['epc'] }) as never,
    others: () => others,
  })
  const told = async (): Promise<readonly string[]> => {
    await made.look(patient())
    return made.health().map(({ name, status, incident }) => `${name} ${status} ${incident}`)
  }
  const [work, radios] = ['work ok core_degraded', 'radios ok no_radio']
  assert.equal(await told(), ['daemons ok no_core', work, radios])
  others = '1 base station and 11 phones of another network (999-99)'
  assert.equal((await told())[0], 'daemons ok no_core', 'besides its own')
  seen = { ...seen, radios: 0, attachedUes: 0, otherNetworks: ['999-99'] }
  assert.equal(await told(), ['daemons degraded other_network', work, radios])
  others = undefined
  problem = new Error('a list is late')
  assert.equal((await told())[0], 'daemons degraded core_degraded')
  seen = { ...seen, services: new Map([['mme', 'down']]) }
  assert.equal((await told())[0], 'daemons down no_core')
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
  assert.match((await made.freshHealth(patient()))[0]?.detail ?? '', /^1 base station, 3 phones attached/)
})

watch('tells of functions that answer and do not work, and of base stations that were there', async () => {
  let seen: CoreObserved = {
    configSha256: undefined,
    services: new Map([['smf', 'up']]),
    problems: new Map(),
    radios: undefined,
    attachedUes: 0,
  }
  const own: { mode: 'lte' | 'none'; pid: number | undefined; isWanted: boolean } = {
    mode: 'none',
    pid: undefined,
    isWanted: false,
  }
  const ran = { observe: async () => ({ ...own, isConnected: false, attachedUes: 0 }) }
  const services = new Map<string, object>([[ranDriverRef.id, ran]])
  const made = coreWatch(fakeContext({ id: 'driver-core-a', config: {}, services }).context, {
    // Only what a watch asks.
    driver: { observe: async () => seen, ues: async () => [] } as never,
    places: () => ({ generations: ['epc'] }) as never,
    others: () => undefined,
  })
  const told = async (more: Partial<CoreObserved>): Promise<readonly string[]> => {
    seen = { ...seen, ...more }
    await made.look(patient())
    return made.health().map(({ name, status }) => `${name} ${status}`)
  }
  assert.equal(await told({ radios: 0 }), ['daemons ok', 'work ok', 'radios ok'], 'none was there yet')
  assert.equal(await told({ radios: 1 }), ['daemons ok', 'work ok', 'radios ok'])
  assert.equal(await told({ radios: 0 }), ['daemons ok', 'work ok', 'radios down'])
  assert.match(made.health()[2]?.detail ?? '', /^no base station is connected; one was until \d{4}-/)
  own.mode = 'lte'
  assert.equal(await told({}), ['daemons ok', 'work ok', 'radios ok'], "the node's own, which is off")
  own.isWanted = true
  assert.equal(await told({}), ['daemons ok', 'work ok', 'radios down'], 'it should be on air, and has ended')
  own.pid = 7
  assert.equal(await told({}), ['daemons ok', 'work ok', 'radios down'], 'it runs, and is not connected')
  assert.equal(await told({ radios: undefined }), ['daemons ok', 'work ok', 'radios down'], 'not known')
  const lost = await told({
    radios: 2,
    problems: new Map([['smf', 'it has no PFCP association with the UPF']]),
  })
  assert.equal(lost, ['daemons ok', 'work down', 'radios ok'])
  assert.is(made.health()[1]?.detail, 'smf: it has no PFCP association with the UPF')
})

watch.run()
