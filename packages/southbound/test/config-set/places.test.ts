import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf, runTool, suite } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { filesOf, inWorld } from '../support/world.ts'

const test = suite('southbound/places')
const never = new AbortController().signal

test('keeps five good sets, closed to others', () =>
  inWorld(async (world) => {
    for (let version = 1; version <= 8; version += 1)
      await applyConfigSet(
        world.options(filesOf('1', { 'hss.yaml': `v: ${version}\n` }), {
          clock: { nowMs: () => version * 1000, monotonicMs: () => 0 },
        }),
        never,
      )
    const names = (await readdir(world.copiesDir)).sort()
    assert.is(names.length, 5)
    assert.match(names[0] ?? '', /^19700101T000004000Z-[0-9a-f]{8}$/)
    const newest = join(world.copiesDir, names[4] ?? '')
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

test('waits for no pipe where its own list of files should be', () =>
  inWorld(async (world) => {
    runTool('mkfifo', join(world.dir, '.steeple.json'))
    const error = await failureOf(applyConfigSet(world.options(filesOf('1')), never))
    assert.is(error.code, 'southbound_unavailable')
    assert.match(
      error.message,
      /it cannot be used [(]it is a pipe, a device or a directory where a file must be[)]/,
    )
  }))

test.run()
