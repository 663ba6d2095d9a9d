import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { type Daemon, dropsOf, restartsOf } from '../../src/config-set/daemon.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { DAEMONS, filesOf, makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/property')
const never = new AbortController().signal
const PATHS = [...filesOf('0').keys()]

type Step =
  | { readonly kind: 'apply'; readonly version: number; readonly bad: string | undefined }
  | { readonly kind: 'edit'; readonly path: string }
  | { readonly kind: 'delete'; readonly path: string }
  | { readonly kind: 'forget' }
  | { readonly kind: 'outage'; readonly after: number }

const path = fc.constantFrom(...PATHS)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('apply' as const),
    version: fc.integer({ min: 1, max: 3 }),
    bad: fc.option(path, { nil: undefined, freq: 1 }),
  }),
  fc.record({ kind: fc.constant('edit' as const), path }),
  fc.record({ kind: fc.constant('delete' as const), path }),
  fc.record({ kind: fc.constant('forget' as const) }),
  fc.record({ kind: fc.constant('outage' as const), after: fc.integer({ min: 1, max: 4 }) }),
)

test('ends with the wanted files in force, whatever happened before', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 7 }), async (steps) => {
      await using world = await makeWorld()
      const outage = breakable(world)
      for (const one of steps) await take(world, one, outage)
      outage.after = 0
      const files = filesOf('9')
      await applyConfigSet(world.options(files), never)
      for (const [name, content] of files) assert.is(await world.read(name), content)
      for (const seen of world.running.values())
        for (const [name, content] of seen) assert.is(content, files.get(name))
      assert.ok((await planConfigSet(world.options(files))).isInSync)
    }),
    { numRuns: 12 },
  ))

/** After how many restarts the engine goes away; 0 for never. */
interface Outage {
  after: number
}

async function take(world: World, one: Step, outage: Outage): Promise<void> {
  if (one.kind === 'delete') await rm(join(world.dir, one.path), { force: true })
  else if (one.kind === 'edit') await writeFile(join(world.dir, one.path), 'edited\n').catch(() => undefined)
  else if (one.kind === 'forget') await rm(join(world.dir, '.steeple.json'), { force: true })
  else if (one.kind === 'outage') outage.after = one.after
  else {
    const files = filesOf(String(one.version), one.bad === undefined ? {} : { [one.bad]: 'bad\n' })
    await applyConfigSet(world.options(files), never).catch(() => undefined)
    world.engine.mood = 'well'
  }
}

function breakable(world: World): Outage {
  const outage = { after: 0 }
  for (const { container = '' } of DAEMONS) {
    const target = world.engine.container(container)
    const { program } = target
    target.program = () => {
      outage.after -= 1
      if (outage.after === 0) world.engine.mood = 'broken'
      return program()
    }
  }
  return outage
}

const daemonList: fc.Arbitrary<readonly Daemon[]> = fc
  .uniqueArray(fc.constantFrom('upf', 'sgwu', 'smf', 'sgwc', 'hss', 'pcrf', 'mme', 'amf'), { minLength: 1 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc.record({
          name: fc.constant(name),
          files: fc.constant([`${name}.yaml`]),
          container: fc.option(fc.constantFrom('one', 'two', 'three'), { nil: undefined }),
          drops: fc.constantFrom('lte' as const, 'nr' as const, 'all' as const, 'none' as const),
          restartsAfter: fc.subarray(names.filter((other) => other !== name)),
        }),
      ),
    ),
  )

test('restarts every concerned daemon once, behind those it follows unless they follow each other', () =>
  fc.assert(
    fc.property(daemonList, fc.nat(), (daemons, seed) => {
      const first = daemons[seed % daemons.length]?.name ?? ''
      const restarts = restartsOf(daemons, new Map([[first, 'its file changed']])).map(({ daemon }) => daemon)
      const names = restarts.map(({ name }) => name)
      assert.is(new Set(names).size, names.length)
      assert.ok(names.includes(first))
      for (const daemon of daemons) {
        const isConcerned =
          daemon.name === first ||
          daemon.restartsAfter?.some((name) => names.includes(name)) === true ||
          (daemon.container !== undefined && restarts.some(({ container }) => container === daemon.container))
        assert.is(names.includes(daemon.name), isConcerned, daemon.name)
      }
      const followers = restarts.filter(({ restartsAfter = [] }) => restartsAfter.length > 0)
      if (followers.length !== 1) return
      const [follower] = followers
      for (const leader of follower?.restartsAfter ?? [])
        if (names.includes(leader)) assert.ok(names.indexOf(leader) < names.indexOf(follower?.name ?? ''))
    }),
  ))

test('says whose subscribers drop', () => {
  const of = (...drops: readonly Daemon['drops'][]) =>
    dropsOf(drops.map((one) => ({ name: one, files: [], container: undefined, drops: one })))
  assert.is(of(), 'none')
  assert.is(of('none', 'lte'), 'lte')
  assert.is(of('lte', 'nr'), 'all')
  assert.is(of('all', 'lte'), 'all')
})

test.run()
