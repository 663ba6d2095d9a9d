import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type HssSurvey, hssDriverRef } from '@steeple/contracts'
import { assert, patient, suite } from '@steeple/testkit'
import { poolsIn } from '../src/render/kept-pools.ts'
import { desiredOf } from './support/desired.ts'
import { type World, world } from './support/world.ts'

const test = suite('driver-core-a/kept-pools')

/** Two pools of an operator: one APN has a range and a device of its own. */
const pools = (section: string, first = '10.45.0.0/16', more = ''): string => `# by hand
${section}:
  session:
    - subnet: ${first}   # everybody
      gateway: 10.45.0.1
      dnn: internet${more}
    - subnet: 10.46.0.0/16
      gateway: 10.46.0.1
      dnn: corp${section === 'upf' ? '\n      dev: corptun' : ''}
  # end
`
const TWO = ['internet', 'corp']

/** A core that was taken over with such files; gives what its files become with these APNs. */
async function taken(
  work: (it: World, files: (apns: readonly string[]) => Promise<(path: string) => string>) => Promise<void>,
  theirs = { smf: pools('smf'), upf: pools('upf') },
): Promise<void> {
  await using it = await world('epc')
  const { driver } = it.a
  const desired = { ...desiredOf(it.fake.context.settings), apns: TWO }
  await driver.apply(await driver.render(desired), patient())
  await mkdir(it.dir, { recursive: true })
  await writeFile(join(it.dir, 'smf.yaml'), theirs.smf)
  await writeFile(join(it.dir, 'upf.yaml'), theirs.upf)
  await driver.adopt?.(desired, [], patient())
  it.engine.restarted.length = 0
  await work(it, async (apns) => {
    const { files } = await driver.render({ ...desired, apns })
    return (path) => files.get(path) ?? ''
  })
}

test('gives a new APN a free network, and leaves every line of the operator’s as it is', () =>
  taken(async (_it, files) => {
    const now = await files([...TWO, 'iot'])
    const added = (dev = '') =>
      `    - subnet: "10.47.0.0/16"\n      gateway: "10.47.0.1"\n      dnn: "iot"\n${dev}`
    assert.is(now('smf.yaml'), pools('smf').replace('  # end', `${added()}  # end`))
    assert.is(now('upf.yaml'), pools('upf').replace('  # end', `${added('      dev: "ogstun"\n')}  # end`))
    assert.is((await files(TWO))('upf.yaml'), pools('upf'))
    // One more does not move the one before, and one that goes takes its own pool alone.
    const more = await files(['internet', 'iot', 'aaa'])
    assert.equal(
      poolsIn(more('smf.yaml')).map(({ dnn, subnet }) => `${dnn} ${subnet}`),
      ['internet 10.45.0.0/16', 'iot 10.47.0.0/16', 'aaa 10.48.0.0/16'],
    )
  }))

test('takes a free range of the network that there is, where the pools leave one', () =>
  taken(
    async (_it, files) => {
      const [first, , third] = poolsIn((await files([...TWO, 'iot']))('upf.yaml'))
      assert.equal(first?.ranges, ['10.45.0.2-10.45.127.254'])
      assert.equal(third, { dnn: 'iot', subnet: '10.45.0.0/16', ranges: ['10.45.128.0-10.45.191.254'] })
    },
    {
      smf: pools('smf', undefined, '\n      range: [ 10.45.0.2-10.45.127.254 ]'),
      upf: pools('upf', undefined, '\n      range: [ 10.45.0.2-10.45.127.254 ]'),
    },
  ))

test('changes nothing where a pool is for any APN', () => {
  const any = (section: string): string => pools(section).replace('\n      dnn: internet', '')
  return taken(
    async (_it, files) => {
      const now = await files([...TWO, 'iot'])
      assert.is(now('smf.yaml'), any('smf'))
      assert.is(now('upf.yaml'), any('upf'))
    },
    { smf: any('smf'), upf: any('upf') },
  )
})

test('refuses a pool in which static addresses of another APN lie, and says what to do', () =>
  taken(async (it, files) => {
    const { driver } = it.a
    const addresses: HssSurvey['addresses'] = [
      { apn: 'internet', address: '10.45.7.4' },
      { apn: 'corp', address: '10.47.0.9' },
    ]
    it.fake.services.set(hssDriverRef.id, { survey: async () => ({ subscribers: 2, addresses }) })
    const set = await driver.render({ ...desiredOf(it.fake.context.settings), apns: [...TWO, 'iot'] })
    const plan = await driver.plan?.(set, patient())
    const words = /10\.47\.0\.0\/16 becomes the range of the APN iot.*: 10\.47\.0\.9 of corp\. Move them/
    assert.match(plan?.problems.join('\n') ?? '', words)
    assert.match(
      plan?.notes.join('\n') ?? '',
      /the APN iot gets addresses of 10\.47\.0\.0\/16.*10\.47\.0\.0\/16 is a new network.*: ip addr add 10\.47\.0\.1\/16 dev ogstun/s,
    )
    const failure = await driver.apply(set, patient()).then(
      () => 'applied',
      (error: Error) => error.message,
    )
    assert.match(failure, words)
    assert.equal(it.engine.restarted, [])
    // What was so before the change stops nothing.
    const none = await driver.plan?.(
      await driver.render({ ...desiredOf(it.fake.context.settings), apns: TWO }),
      patient(),
    )
    assert.not.match(none?.problems.join('\n') ?? '', /static addresses/)
    assert.is((await files(TWO))('smf.yaml'), pools('smf'))
  }))

test.run()
