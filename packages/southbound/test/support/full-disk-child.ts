import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, failureOf } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { filesOf, makeWorld } from './world.ts'

/** Runs in a mount namespace of its own: a small disk and a read-only one in the place of a configuration directory. */
const never = new AbortController().signal
const world = await makeWorld()
try {
  mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', world.dir)
  await applyConfigSet(world.options(filesOf('1')), never)
  const full = filesOf('2', { 'mme.yaml': 'x'.repeat(100_000) })
  const error = await failureOf(applyConfigSet(world.options(full), never))
  assert.is(error.code, 'southbound_unavailable')
  assert.match(error.message, /the disk is full; make room/)
  for (const [path, content] of filesOf('1')) assert.is(await world.read(path), content)
  assert.ok((await planConfigSet(world.options(filesOf('1')))).isInSync)
  assert.not.ok((await readdir(world.dir)).some((name) => name.includes('tmp')))
  await applyConfigSet(world.options(filesOf('3')), never)
  assert.is(world.running.get('mme')?.get('mme.yaml'), filesOf('3').get('mme.yaml'))

  mount('-o', 'remount,ro', world.dir)
  const readOnly = await failureOf(applyConfigSet(world.options(filesOf('4')), never))
  assert.is(readOnly.code, 'southbound_unavailable')
  assert.match(readOnly.message, /read-only file system/)
  assert.is(await world.read('mme.yaml'), filesOf('3').get('mme.yaml'))
  mount('-o', 'remount,rw', world.dir)

  mkdirSync(world.copiesDir, { recursive: true })
  mount('-t', 'tmpfs', '-o', 'ro,size=16k', 'tmpfs', world.copiesDir)
  const count = world.engine.restarts.length
  const copies = await failureOf(applyConfigSet(world.options(filesOf('5')), never))
  assert.match(copies.message, /copies: it is on a read-only file system/)
  assert.is(world.engine.restarts.length, count)
  spawnSync('umount', [world.copiesDir])
  await applyConfigSet(world.options(filesOf('5')), never)
  assert.is(await world.read('mme.yaml'), filesOf('5').get('mme.yaml'))
} finally {
  spawnSync('umount', [world.dir])
  await world.close()
}

function mount(...words: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`mount ${words.join(' ')}: ${stderr} in ${join(world.dir)}`)
}
