import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf, suite } from '@steeple/testkit'
import { type FakeCore, fakeCore, settingsOf } from '../support/small-core.ts'
import { makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/take-over')
const never = new AbortController().signal

/** Files of an operator, in places of ours and beside them. */
const THEIRS: Readonly<Record<string, string>> = {
  'mme.yaml': 'HAND-MADE: yes\ntac: 4321 # für uns\n',
  'freediameter/smf.conf': 'Identity = "HAND-MADE";\n',
  'notes.txt': 'HAND-MADE notes\n',
}
const HELD = ['freediameter/smf.conf', 'mme.yaml']

async function inTheirs(work: (world: World, one: FakeCore) => Promise<void>): Promise<void> {
  const world = await makeWorld()
  await mkdir(join(world.dir, 'freediameter'))
  for (const [path, content] of Object.entries(THEIRS)) await writeFile(join(world.dir, path), content)
  const one = await fakeCore(world)
  try {
    await work(world, one)
  } finally {
    await one.close()
    await world.close()
  }
}

/** What lies in a directory, without our own list. */
async function contents(dir: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name !== '.steeple.json')
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const place = join(parentPath, name)
        return [place.slice(dir.length + 1), await readFile(place, 'utf8')] as const
      }),
    ),
  )
}

test('touches no file of others before somebody agrees to exactly these', () =>
  inTheirs(async (world, { core, apply, plan, wanted }) => {
    const shown = await plan()
    assert.equal(shown.held, HELD)
    assert.match(
      shown.problems.join(),
      /did not write freediameter\/smf\.conf, mme\.yaml in .*svc core take-over/,
    )
    assert.match((await failureOf(apply())).message, /nothing is applied until you agree/)
    const fewer = await failureOf(core.driver.takeOver(wanted(), ['mme.yaml'], never))
    assert.match(fewer.message, /freediameter\/smf\.conf, mme\.yaml: name exactly these/)
    assert.is((await failureOf(apply())).code, 'southbound_unavailable')
    assert.equal(await contents(world.dir), THEIRS)
    assert.is(world.engine.restarts.length, 0)
  }))

test('keeps what others wrote for good, whatever changes afterwards, and puts it back in one step', () =>
  inTheirs(async (world, one) => {
    const copy = await one.core.driver.takeOver(one.wanted(), HELD, never)
    await one.apply()
    for (let tac = 8; tac < 18; tac += 1) {
      one.change({ tac })
      await one.apply()
    }
    const { 'notes.txt': _, ...replaced } = THEIRS
    assert.equal(await contents(copy), replaced)
    const shown = await one.plan()
    assert.equal([shown.held, shown.originals], [undefined, [copy]])
    assert.match(shown.notes.join(), /kept in .*svc core restore-original/)
    const restarts = world.engine.restarts.length
    const done = await one.core.driver.restoreOriginal(one.wanted(), undefined, never)
    assert.equal(await contents(world.dir), THEIRS)
    assert.is(done.copy, copy.split('/').at(-1))
    // Those whose files only this service wrote do not start without them, and that is said.
    assert.match(done.problem ?? '', /upf does not get well with them/)
    assert.ok(world.engine.restarts.length > restarts)
    assert.equal((await one.plan()).held, HELD)
    assert.is((await failureOf(one.apply())).code, 'southbound_unavailable')
    assert.equal(await contents(world.dir), THEIRS)
  }))

test('puts files back but restarts nobody under southbound.driver none', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.takeOver(one.wanted(), HELD, never)
    await one.apply()
    one.fake.changeSettings(settingsOf(world, { southbound: { driver: 'none' } }))
    const restarts = world.engine.restarts.length
    const done = await one.core.driver.restoreOriginal(one.wanted(), undefined, never)
    assert.match(done.problem ?? '', /southbound\.driver is none/)
    assert.equal(await contents(world.dir), THEIRS)
    assert.is(world.engine.restarts.length, restarts)
    assert.is(
      (await failureOf(one.core.driver.takeOver(one.wanted(), HELD, never))).code,
      'validation_failed',
    )
  }))

test('asks nobody about an empty directory, files that are the same, or files of its own without their list', () =>
  inTheirs(async (world, one) => {
    for (const path of HELD) await rm(join(world.dir, path))
    await writeFile(join(world.dir, 'mme.yaml'), one.wanted().files.get('mme.yaml') ?? '')
    await one.apply()
    one.change({ tac: 8 })
    await rm(join(world.dir, '.steeple.json'))
    assert.is((await one.plan()).held, undefined)
    await one.apply()
    one.change({ tac: 9 })
    await writeFile(join(world.dir, '.steeple.json'), 'damaged')
    await one.apply()
    assert.is((await one.plan()).state, 'in_sync')
    assert.is((await one.plan()).originals, undefined)
  }))

test('keeps each edit of a file of its own, also one that came after a refused set', () =>
  inTheirs(async (world, one) => {
    await one.core.driver.takeOver(one.wanted(), HELD, never)
    one.change({ tac: 666 })
    assert.is((await failureOf(one.apply())).code, 'core_config_refused')
    assert.equal(await contents(world.dir), THEIRS, 'the way back is to what was there')
    one.change({ tac: 8 })
    for (const edit of ['edited after the way back\n', 'edited later\n']) {
      await one.fake.clock.advance(1_000)
      await writeFile(join(world.dir, 'mme.yaml'), edit)
      await one.apply()
    }
    const originals = (await one.plan()).originals ?? []
    const kept = await Promise.all(originals.map(async (dir) => (await contents(dir))['mme.yaml']))
    assert.equal(kept, [THEIRS['mme.yaml'], 'edited after the way back\n', 'edited later\n'])
  }))

test('leaves alone what it cannot copy as it is, and copies of an earlier release that may hold what nobody else has', () =>
  inTheirs(async (world, one) => {
    await writeFile(join(world.dir, 'mme.yaml'), Buffer.from('# f\xfcr uns\n', 'latin1'))
    const error = await failureOf(one.core.driver.takeOver(one.wanted(), HELD, never))
    assert.match(error.message, /mme\.yaml is not UTF-8; it was left as it is/)
    await writeFile(join(world.dir, 'mme.yaml'), THEIRS['mme.yaml'] ?? '')
    const earlier = join(world.root.path, 'core-backups/core_a/20260101T000000000Z-0a0b0c0d')
    await mkdir(earlier, { recursive: true })
    await writeFile(join(earlier, 'mme.yaml'), 'of an operator\n')
    await one.core.driver.takeOver(one.wanted(), HELD, never)
    for (let tac = 8; tac < 16; tac += 1) {
      one.change({ tac })
      await one.apply()
    }
    assert.equal(await contents(earlier), { 'mme.yaml': 'of an operator\n' })
    assert.is((await readdir(join(earlier, '..'))).length, 6)
  }))

test.run()
