import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { renderedOf } from '../../src/config-set/sha256.ts'
import { failureOf, filesOf, LIMITS, makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/apply')
const never = new AbortController().signal

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const world = await makeWorld()
  try {
    await work(world)
  } finally {
    await world.close()
  }
}

test('writes a first set and restarts every daemon in order, smf behind mme', () =>
  inWorld(async (world) => {
    const files = filesOf('1')
    const result = await applyConfigSet(world.options(files), never)
    assert.equal([...world.engine.restarts], ['c-upf', 'c-hss', 'c-mme', 'c-smf'])
    assert.equal(result.restarted, ['upf', 'hss', 'mme', 'smf'])
    for (const [path, content] of files) assert.is(await world.read(path), content)
    const plan = await planConfigSet(world.options(files))
    assert.ok(plan.isInSync)
    assert.is(plan.appliedSha256, renderedOf(files).sha256)
  }))

test('does nothing the second time', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    const before = await world.read('.steeple.json')
    const count = world.engine.restarts.length
    assert.equal(await applyConfigSet(world.options(filesOf('1')), never), {
      changed: [],
      restarted: [],
      unmanaged: [],
    })
    assert.is(world.engine.restarts.length, count)
    assert.is(await world.read('.steeple.json'), before)
  }))

test('restarts only the daemon whose file changed, and those that follow it', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    const count = world.engine.restarts.length
    await applyConfigSet(world.options(filesOf('1', { 'hss.yaml': 'db: other\n' })), never)
    assert.equal(world.engine.restarts.slice(count), ['c-hss'])
    await applyConfigSet(
      world.options(filesOf('1', { 'hss.yaml': 'db: other\n', 'mme.yaml': 'tac: 8\n' })),
      never,
    )
    assert.equal(world.engine.restarts.slice(count + 1), ['c-mme', 'c-smf'])
  }))

test('removes its own files that are no longer wanted and touches nothing of others', () =>
  inWorld(async (world) => {
    await writeFile(join(world.dir, 'notes.txt'), 'mine')
    await mkdir(join(world.dir, 'freediameter'))
    await writeFile(join(world.dir, 'freediameter/cert.pem'), 'theirs')
    await applyConfigSet(world.options(filesOf('1')), never)
    const fewer = new Map(filesOf('1'))
    fewer.delete('freediameter/smf.conf')
    const daemons = world.options(fewer).daemons.map((daemon) => ({
      ...daemon,
      files: daemon.files.filter((path) => fewer.has(path)),
    }))
    const count = world.engine.restarts.length
    world.engine.container('c-smf').program = () => ({})
    await applyConfigSet(world.options(fewer, { daemons }), never)
    assert.equal(world.engine.restarts.slice(count), ['c-smf'])
    assert.equal((await readdir(world.dir, { recursive: true })).sort(), [
      '.steeple.json',
      'freediameter',
      'freediameter/cert.pem',
      'hss.yaml',
      'mme.yaml',
      'notes.txt',
      'smf.yaml',
      'upf.yaml',
    ])
    assert.is(await world.read('notes.txt'), 'mine')
  }))

test('heals a file that was edited by hand and one that was deleted, and keeps the edit among the backups', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    await writeFile(join(world.dir, 'mme.yaml'), 'tac: edited\n')
    await rm(join(world.dir, 'upf.yaml'))
    const plan = await planConfigSet(world.options(filesOf('1')))
    assert.is(plan.appliedSha256, undefined)
    assert.equal(
      plan.files.filter(({ isDrift }) => isDrift).map(({ path, change }) => [path, change]),
      [
        ['mme.yaml', 'changed'],
        ['upf.yaml', 'added'],
      ],
    )
    await applyConfigSet(world.options(filesOf('1')), never)
    assert.is(await world.read('mme.yaml'), filesOf('1').get('mme.yaml'))
    assert.ok((await planConfigSet(world.options(filesOf('1')))).isInSync)
    const backups = await readdir(world.backupDir)
    const kept = await Promise.all(
      backups.map((name) => readFile(join(world.backupDir, name, 'mme.yaml'), 'utf8')),
    )
    assert.ok(kept.includes('tac: edited\n'), 'the edit must be kept')
  }))

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
    assert.equal(world.engine.restarts.slice(count), ['c-upf', 'c-hss', 'c-mme', 'c-upf', 'c-hss', 'c-mme'])
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
    const moved = { probe, addresses: { mme: '10.99.99.99' }, limits: { ...LIMITS, healthMs: 60 } }
    const error = await failureOf(applyConfigSet(world.options(at('10.99.99.99'), moved), never))
    assert.match(error.message, /mme does not get well with its new configuration/)
    assert.match(error.message, /the core is well with them/)
    assert.ok(asked.includes('mme 10.0.0.2 true'), asked.join(', '))
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
        world.options(filesOf('2'), { probe: hanging, limits: { ...LIMITS, healthMs: 60 } }),
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

test('writes the files of a daemon without a container, and says that nobody restarts it', () =>
  inWorld(async (world) => {
    const daemons = world
      .options(filesOf('1'))
      .daemons.map((daemon) => (daemon.name === 'mme' ? { ...daemon, container: undefined } : daemon))
    const result = await applyConfigSet(world.options(filesOf('1'), { daemons }), never)
    assert.equal(result.unmanaged, ['mme'])
    assert.is(await world.read('mme.yaml'), filesOf('1').get('mme.yaml'))
    assert.not.ok(world.engine.restarts.includes('c-mme'))
    assert.ok((await planConfigSet(world.options(filesOf('1'), { daemons }))).isInSync)
  }))

test('restarts a container that several daemons share once', () =>
  inWorld(async (world) => {
    const daemons = world.options(filesOf('1')).daemons.map((daemon) => ({ ...daemon, container: 'c-upf' }))
    const plan = await planConfigSet(world.options(filesOf('1'), { daemons }))
    assert.is(plan.drops, 'all')
    const result = await applyConfigSet(world.options(filesOf('1'), { daemons }), never)
    assert.equal([...world.engine.restarts], ['c-upf'])
    assert.equal(result.restarted.length, 4)
    const other = filesOf('1', { 'hss.yaml': 'other' })
    assert.is((await planConfigSet(world.options(other, { daemons }))).drops, 'all')
  }))

test('keeps five good sets, closed to others', () =>
  inWorld(async (world) => {
    for (let version = 1; version <= 8; version += 1)
      await applyConfigSet(
        world.options(filesOf('1', { 'hss.yaml': `v: ${version}\n` }), {
          clock: { nowMs: () => version * 1000, monotonicMs: () => 0 },
        }),
        never,
      )
    const names = (await readdir(world.backupDir)).sort()
    assert.is(names.length, 5)
    assert.match(names[0] ?? '', /^19700101T000004000Z-[0-9a-f]{8}$/)
    const newest = join(world.backupDir, names[4] ?? '')
    assert.is((await stat(newest)).mode & 0o777, 0o700)
    assert.is((await stat(join(newest, 'hss.yaml'))).mode & 0o777, 0o600)
    assert.is(await readFile(join(newest, 'hss.yaml'), 'utf8'), 'v: 8\n')
  }))

test('gives new files to owner and group, and keeps the mode of those it replaces', () =>
  inWorld(async (world) => {
    await chmod(world.dir, 0o2750)
    await writeFile(join(world.dir, 'upf.yaml'), 'old')
    await chmod(join(world.dir, 'upf.yaml'), 0o664)
    await applyConfigSet(world.options(filesOf('1')), never)
    assert.is((await stat(join(world.dir, 'mme.yaml'))).mode & 0o777, 0o640)
    assert.is((await stat(join(world.dir, 'freediameter'))).mode & 0o7777, 0o2750)
    assert.is((await stat(join(world.dir, 'freediameter/smf.conf'))).mode & 0o777, 0o640)
    assert.is((await stat(join(world.dir, 'upf.yaml'))).mode & 0o777, 0o664)
  }))

test('refuses paths and links that lead out of the directory', () =>
  inWorld(async (world) => {
    for (const path of [
      '../out.yaml',
      '/etc/out.yaml',
      'a/../../out.yaml',
      '.steeple.json',
      'a//b',
      'a\\b',
      '',
    ]) {
      const error = await failureOf(applyConfigSet(world.options(new Map([[path, 'x']])), never))
      assert.is(error.code, 'southbound_unavailable', path)
      assert.match(error.message, /is no path for a configuration file/)
    }
    const outside = join(world.root.path, 'outside')
    await mkdir(outside)
    await writeFile(join(outside, 'victim'), 'untouched')
    await symlink(outside, join(world.dir, 'freediameter'))
    const folder = await failureOf(applyConfigSet(world.options(filesOf('1')), never))
    assert.match(folder.message, /freediameter is a symbolic link where a directory must be/)
    assert.equal(await readdir(outside), ['victim'])
    await rm(join(world.dir, 'freediameter'))
    await symlink(join(outside, 'victim'), join(world.dir, 'mme.yaml'))
    const file = await failureOf(applyConfigSet(world.options(filesOf('1')), never))
    assert.match(file.message, /mme\.yaml is a symbolic link where a file must be/)
    assert.is(await readFile(join(outside, 'victim'), 'utf8'), 'untouched')
    assert.is(world.engine.restarts.length, 0)
  }))

test('says what is wrong with a directory that is missing or is none', () =>
  inWorld(async (world) => {
    const missing = join(world.root.path, 'nowhere')
    const error = await failureOf(applyConfigSet(world.options(filesOf('1'), { dir: missing }), never))
    assert.is(error.code, 'southbound_unavailable')
    assert.match(error.message, /nowhere: it does not exist; create it/)
    const file = join(world.root.path, 'file')
    await writeFile(file, '')
    const none = await failureOf(applyConfigSet(world.options(filesOf('1'), { dir: file }), never))
    assert.match(none.message, /it is not a directory/)
  }))

test('takes a damaged manifest for none and applies everything anew', () =>
  inWorld(async (world) => {
    await applyConfigSet(world.options(filesOf('1')), never)
    for (const text of [
      '',
      '{"version":1',
      '[]',
      '{"version":1,"files":{"../x":{}}}',
      '{"version":2,"files":{}}',
    ]) {
      await writeFile(join(world.dir, '.steeple.json'), text)
      const plan = await planConfigSet(world.options(filesOf('1')))
      assert.ok(plan.state.isManifestBroken)
      assert.not.ok(plan.isInSync)
      await applyConfigSet(world.options(filesOf('1')), never)
      assert.ok((await planConfigSet(world.options(filesOf('1')))).isInSync)
    }
  }))

test('honours a signal that has fired', () =>
  inWorld(async (world) => {
    const error = await failureOf(
      applyConfigSet(world.options(filesOf('1')), AbortSignal.abort(new Error('the service stops'))),
    )
    assert.is(error.message, 'the service stops')
    assert.equal(await readdir(world.dir), [])
  }))

test.run()
