import { readFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf, suite } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { renderedOf } from '../../src/config-set/files.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { readManifest } from '../../src/config-set/read-set.ts'
import { filesOf, inWorld, LIMITS } from '../support/world.ts'

const test = suite('southbound/roll-back')
const never = new AbortController().signal

test('goes back to the last good files when a daemon does not start with the new ones', () =>
  inWorld(async (world) => {
    const good = filesOf('1')
    await applyConfigSet(world.options(good), never)
    const count = world.engine.restarts.length
    const bad = filesOf('2', { 'mme.yaml': 'tac: bad\n' })
    const error = await failureOf(applyConfigSet(world.options(bad), never))
    assert.is(error.code, 'core_config_refused')
    assert.match(error.message, /^mme does not get well/)
    assert.match(error.message, /ended with code 0/)
    assert.match(error.message, /invalid value in 'mme\.yaml'/)
    assert.match(error.message, /The last good files are back, and the core is well with them/)
    assert.not.match(error.message, /abab/)
    // The way back leaves no sessions behind that the mme has forgotten, either.
    const back = ['c-upf', 'c-hss', 'c-mme', 'c-smf']
    assert.equal(world.engine.restarts.slice(count), ['c-upf', 'c-hss', 'c-mme', ...back])
    for (const [path, content] of good) assert.is(await world.read(path), content)
    for (const [, seen] of world.running)
      for (const [path, content] of seen) assert.is(content, good.get(path))
    const plan = await planConfigSet(world.options(good))
    assert.ok(plan.isInSync)
    assert.is(plan.appliedSha256, renderedOf(good).sha256)
    assert.is(plan.state.manifest.refused?.key, renderedOf(bad).sha256)
  }))

test('goes back to what it found when the very first set is refused', () =>
  inWorld(async (world) => {
    const found = filesOf('0')
    await mkdir(join(world.dir, 'freediameter'))
    for (const [path, content] of found)
      if (path !== 'hss.yaml') await writeFile(join(world.dir, path), content)
    const error = await failureOf(applyConfigSet(world.options(filesOf('1', { 'mme.yaml': 'bad' })), never))
    assert.is(error.code, 'core_config_refused')
    assert.is(await world.read('mme.yaml'), found.get('mme.yaml'))
    assert.not.ok((await readdir(world.dir)).includes('hss.yaml'))
  }))

test('says so when there is nothing to go back to, and when the way back fails as well', () =>
  inWorld(async (world) => {
    const first = await failureOf(applyConfigSet(world.options(filesOf('1', { 'upf.yaml': 'bad' })), never))
    assert.match(first.message, /no earlier files to go back to/)
    await applyConfigSet(world.options(filesOf('1')), never)
    const { program } = world.engine.container('c-upf')
    world.engine.container('c-upf').program = () => ({ exitCode: 1, log: 'ERROR: no tun device' })
    const error = await failureOf(applyConfigSet(world.options(filesOf('2')), never))
    assert.is(error.code, 'core_config_refused')
    assert.not.match(error.message, /invalid value/, 'words of an earlier run are no reason')
    assert.match(error.message, /The last good files are back, but upf does not get well with them either/)
    assert.match(error.message, /no tun device/)
    assert.is(await world.read('upf.yaml'), filesOf('1').get('upf.yaml'))
    world.engine.container('c-upf').program = program
    await applyConfigSet(world.options(filesOf('2')), never)
    assert.is(world.running.get('upf')?.get('upf.yaml'), filesOf('2').get('upf.yaml'))
  }))

test('does not take the last good files for the cure when they are what does not work', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    await writeFile(join(world.dir, 'upf.yaml'), 'edited')
    const { program } = world.engine.container('c-upf')
    world.engine.container('c-upf').program = () => ({ exitCode: 1, log: 'ERROR: no tun device' })
    const count = world.engine.restarts.length
    const error = await failureOf(applyConfigSet(world.options(filesOf('1')), never))
    assert.match(error.message, /no tun device\. These are the last good files already/)
    assert.is(error.code, 'southbound_unavailable', 'it is tried again without a change')
    assert.is((await readManifest(world.dir)).manifest.refused, undefined)
    assert.equal(world.engine.restarts.slice(count), ['c-upf'])
    const plan = await planConfigSet(world.options(filesOf('1')))
    assert.equal([plan.isInSync, plan.appliedSha256], [false, undefined])
    world.engine.container('c-upf').program = program
    await applyConfigSet(world.options(filesOf('1')), never)
    assert.equal(world.engine.restarts.slice(count), ['c-upf', 'c-upf'])
    assert.ok((await planConfigSet(world.options(filesOf('1')))).isInSync)
  }))

test('refuses a daemon that the engine restarts over and over, and one that its probe is not content with', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    world.engine.container('c-mme').isRestless = true
    const restless = await failureOf(
      applyConfigSet(world.options(filesOf('1', { 'mme.yaml': 'bad' })), never),
    )
    assert.match(restless.message, /mme does not get well/)
    const probe = async (daemon: string): Promise<string | undefined> =>
      daemon === 'hss' && (await world.read('hss.yaml')).includes('lonely')
        ? 'no peer is connected'
        : undefined
    const lonely = filesOf('1', { 'hss.yaml': 'lonely: yes\n' })
    const error = await failureOf(applyConfigSet(world.options(lonely, { probe }), never))
    assert.is(error.code, 'core_config_refused')
    assert.match(error.message, /hss does not get well.*no peer is connected/)
    assert.match(error.message, /the core is well with them/)
  }))

test('has the words of a start that failed although the engine has started it again since', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    const mme = world.engine.container('c-mme')
    const { program } = mme
    mme.isRestless = true
    let starts = 0
    mme.program = () => {
      if (readFileSync(join(world.dir, 'mme.yaml'), 'utf8').includes('1')) return program()
      starts += 1
      // Each run says it late: the newest one has not come to it yet.
      return { exitCode: 0, log: starts < 3 ? 'ERROR: bind() [10.9.9.9] failed' : '' }
    }
    const error = await failureOf(applyConfigSet(world.options(filesOf('2')), never))
    assert.match(error.message, /^mme does not get well.*it said: ERROR: bind\(\) \[10\.9\.9\.9\] failed/)
  }))

test('asks on the way back where the earlier set listens, not where the refused one would have', () =>
  inWorld(async (world) => {
    const asked: string[] = []
    // A daemon answers where its file has it listen, and nowhere else.
    const probe = async (
      daemon: string,
      _signal: AbortSignal,
      addresses: Readonly<Record<string, string>>,
    ): Promise<string | undefined> => {
      if (daemon !== 'mme') return undefined
      const listens = (await world.read(`${daemon}.yaml`)).includes(`at: ${addresses[daemon]}`)
      asked.push(`${daemon} ${addresses[daemon]} ${listens}`)
      return listens && addresses[daemon] !== '10.99.99.99' ? undefined : 'connection refused'
    }
    const at = (address: string) => filesOf('1', { 'mme.yaml': `at: ${address}\n` })
    const first = world.options(at('10.0.0.2'), { addresses: { mme: '10.0.0.2' } })
    await applyConfigSet(first, never)
    const moved = { probe, addresses: { mme: '10.99.99.99' } }
    const error = await failureOf(applyConfigSet(world.options(at('10.99.99.99'), moved), never))
    assert.match(error.message, /mme does not get well with its new configuration/)
    assert.match(error.message, /the core is well with them/)
    assert.ok(asked.includes('mme 10.0.0.2 true'), asked.join(', '))
  }))

test('names the code of a daemon that ends only after it seemed to stay up', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    const mme = world.engine.container('c-mme')
    const probe = async (daemon: string): Promise<string | undefined> => {
      if (daemon !== 'mme' || !(await world.read('mme.yaml')).includes('version: 2')) return undefined
      Object.assign(mme, { isRunning: false, exitCode: 255 })
      return 'connection refused'
    }
    const error = await failureOf(applyConfigSet(world.options(filesOf('2'), { probe }), never))
    assert.match(error.message, /^mme does not get well.*: it ended with code 255; connection refused/)
    assert.match(error.message, /the core is well with them/)
  }))

test('takes a probe that fails or hangs for one that is not content', () =>
  inWorld(async (world) => {
    const failing = async (): Promise<undefined> => {
      throw new Error('connection refused')
    }
    const first = await failureOf(applyConfigSet(world.options(filesOf('1'), { probe: failing }), never))
    assert.match(first.message, /connection refused/)
    const hanging = (): Promise<undefined> => new Promise(() => undefined)
    const second = await failureOf(
      applyConfigSet(
        world.options(filesOf('2'), { probe: hanging, limits: { ...LIMITS, healthMs: 2_000 } }),
        never,
      ),
    )
    assert.match(second.message, /no answer within/)
    let looks = 0
    const complaining = async (): Promise<string> => {
      looks += 1
      return looks === 1 ? 'no peer is connected' : await new Promise(() => undefined)
    }
    const third = await failureOf(applyConfigSet(world.options(filesOf('3'), { probe: complaining }), never))
    assert.match(third.message, /no peer is connected/, 'what it said outlives a look that time cut short')
  }))

test('changes nothing when the engine or a container is not there', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    world.engine.remove('c-mme')
    const error = await failureOf(applyConfigSet(world.options(filesOf('2')), never))
    assert.is(error.code, 'southbound_unavailable')
    assert.match(error.message, /no container c-mme, which is named for mme; nothing was changed/)
    assert.is(await world.read('upf.yaml'), filesOf('1').get('upf.yaml'))
    world.engine.mood = 'hang'
    assert.is(
      (await failureOf(applyConfigSet(world.options(filesOf('2')), never))).code,
      'southbound_unavailable',
    )
    assert.ok((await planConfigSet(world.options(filesOf('1')))).isInSync)
  }))

test('goes on where it was when the engine goes away in the middle', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    const { program } = world.engine.container('c-hss')
    world.engine.container('c-hss').program = () => {
      world.engine.mood = 'broken'
      return program()
    }
    const error = await failureOf(applyConfigSet(world.options(filesOf('2')), never))
    assert.is(error.code, 'southbound_unavailable')
    assert.is((await planConfigSet(world.options(filesOf('2')))).isInSync, false)
    world.engine.mood = 'well'
    world.engine.container('c-hss').program = program
    await applyConfigSet(world.options(filesOf('2')), never)
    for (const [, seen] of world.running)
      for (const [path, content] of seen) assert.is(content, filesOf('2').get(path))
  }))

test.run()
