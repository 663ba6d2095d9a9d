import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf, suite } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { renderedOf } from '../../src/config-set/files.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { filesOf, inWorld, LIMITS } from '../support/world.ts'

const test = suite('southbound/apply')
const never = new AbortController().signal

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

test('heals a file that was edited by hand and one that was deleted, and keeps the edit among the copies', () =>
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
    const [name = ''] = await readdir(world.originalsDir)
    assert.is(await readFile(join(world.originalsDir, name, 'mme.yaml'), 'utf8'), 'tac: edited\n')
  }))

test('restarts nobody for an edit that no daemon has read, and tells of it', () =>
  inWorld(async (world) => {
    const options = world.options(filesOf('1'))
    await applyConfigSet(options, never)
    const edit = async (startedAtMs: number, path = 'mme.yaml') => {
      for (const name of ['c-mme', 'c-smf']) world.engine.container(name).startedAtMs = startedAtMs
      await writeFile(join(world.dir, path), `tac: edited ${startedAtMs}\n`)
      const count = world.engine.restarts.length
      const plan = await planConfigSet(options, { engine: options.engine })
      const done = await applyConfigSet(options, never)
      assert.is(await world.read(path), filesOf('1').get(path))
      const copy = await readFile(join(done.undone?.copy ?? '', path), 'utf8')
      assert.is(copy, `tac: edited ${startedAtMs}\n`)
      assert.equal([done.changed, done.undone?.files], [[path], [path]])
      assert.equal(
        plan.daemons.filter(({ action }) => action === 'restart').map(({ name }) => name),
        done.restarted,
      )
      return [done.restarted, world.engine.restarts.slice(count), plan.daemons] as const
    }
    const [none, nobody, planned] = await edit(Date.now() - 60_000)
    assert.equal([none, nobody], [[], []])
    assert.is(planned.find(({ name }) => name === 'mme')?.reason, 'it has not read the edit of its file')
    assert.ok((await planConfigSet(options)).isInSync)
    // Started since: it may have read it.
    assert.equal((await edit(Date.now() + 60_000)).slice(0, 2), [
      ['mme', 'smf'],
      ['c-mme', 'c-smf'],
    ])
    // Other settings restart it all the same, and the edit is told of.
    world.engine.container('c-mme').startedAtMs = Date.now() - 60_000
    await writeFile(join(world.dir, 'mme.yaml'), 'tac: again\n')
    const next = await applyConfigSet(world.options(filesOf('2')), never)
    assert.ok(next.restarted.includes('mme'))
    assert.equal(next.undone?.files, ['mme.yaml'])
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

test('takes a change back that costs a daemon beside it what it needs, and none that was at fault before', () =>
  inWorld(async (world) => {
    const good = filesOf('1')
    let hasTun = true
    /** The MME has its peer while the HSS runs with a good file. */
    const probe = async (daemon: string): Promise<string | undefined> => {
      if (daemon === 'upf') return hasTun ? undefined : 'it has no tun device'
      const isLost = world.running.get('hss')?.get('hss.yaml')?.includes('another realm') === true
      return daemon === 'mme' && isLost ? 'it has no Diameter connection to the HSS' : undefined
    }
    // Up at the first look: on a busy machine a second one came after the short time that the MME gets here.
    const limits = { ...LIMITS, settleMs: 0, healthMs: 100 }
    const apply = async (files: ReadonlyMap<string, string>) =>
      await applyConfigSet(world.options(files, { probe, limits, addresses: {} }), never)
    await apply(good)
    await apply(filesOf('1', { 'mme.yaml': 'tac: 8\n' }))
    const count = world.engine.restarts.length
    hasTun = false
    const error = await failureOf(
      apply(filesOf('1', { 'mme.yaml': 'tac: 8\n', 'hss.yaml': 'another realm\n' })),
    )
    assert.is(error.code, 'core_config_refused')
    assert.match(error.message, /^mme no longer does its work .*: it has no Diameter connection to the HSS/)
    assert.match(error.message, /The last good files are back, and the core is well with them/)
    assert.is(world.running.get('hss')?.get('hss.yaml'), good.get('hss.yaml'))
    assert.equal(world.engine.restarts.slice(count), ['c-hss', 'c-hss'])
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
