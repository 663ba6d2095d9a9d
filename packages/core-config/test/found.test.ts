import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type HssSurvey, hssDriverRef, policyRef } from '@steeple/contracts'
import { assert, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import { foundNow } from '../src/found.ts'
import { adoptRoutes } from '../src/found-route.ts'

const test = suite('core-config/found-now')
const { signal } = new AbortController()

/** What is found of an SMF with these pools, while the policy has the APN internet. */
async function foundWith(pools: string) {
  await using dir = await tempDir()
  const configFile = join(dir.path, 'smf.yaml')
  await writeFile(configFile, `smf:\n  pfcp:\n    server:\n      - address: 127.0.0.4\n  session:\n${pools}`)
  const db = memoryDb()
  const fake = fakeContext<unknown>({ id: 'core-config', config: {}, db, settings: {} })
  fake.services.set(policyRef.id, { bundle: () => ({ apns: ['internet'] }) })
  try {
    return await foundNow(fake.context, signal, {
      ...{ proc: join(dir.path, 'none'), packages: join(dir.path, 'none'), engineSocket: '' },
      units: async () => [
        { core: 'core_a', role: 'smf', configFile, unit: 'open5gs-smfd.service', pid: undefined },
      ],
    })
  } finally {
    await fake.dispose()
    db.close()
  }
}

test('keeps the APNs of the policy where a pool is for any, and takes those of the pools else', async () => {
  const any = '    - subnet: 10.45.0.0/16\n'
  const iot = '    - subnet: 10.46.0.0/16\n      dnn: iot\n'
  assert.equal((await foundWith(any + iot)).apns, ['internet', 'iot'])
  assert.equal((await foundWith(iot)).apns, ['iot'])
  assert.is((await foundWith(any)).apns, undefined)
})

test('asks to have sessions looked for, and for no key of a part that is not there', async () => {
  const { settings } = await foundWith('    - subnet: 10.45.0.0/16\n')
  assert.is(settings['collector.enabled'], true)
  assert.not('hss.driver' in settings)
})

test('says what the core does not bear of its subscribers, and nothing while the HSS does not tell', async () => {
  const fake = fakeContext<unknown>({ id: 'core-config', config: {}, settings: {} })
  let survey = async (): Promise<HssSurvey> => ({ ...NOBODY, problems: ['1 subscriber has too many APNs'] })
  fake.services.set(hssDriverRef.id, { survey: () => survey() })
  const places = { proc: '/nowhere', packages: '/nowhere', engineSocket: '', units: async () => [] }
  const notes = async () => {
    const [route] = adoptRoutes(fake.context, () => undefined, places)
    assert.ok(route !== undefined)
    const { body } = await route.handle({ signal } as never) // all that it looks at
    return (body as { readonly notes: readonly string[] }).notes
  }
  try {
    assert.equal(await notes(), ['1 subscriber has too many APNs'])
    survey = async () => NOBODY
    assert.equal(await notes(), [])
    survey = async () => {
      throw new Error('it is away')
    }
    assert.equal(await notes(), [])
  } finally {
    await fake.dispose()
  }
})

const NOBODY: HssSurvey = { subscribers: 0, addresses: [] }

test.run()
