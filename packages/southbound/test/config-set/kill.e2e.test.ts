import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, suite } from '@steeple/testkit'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { planConfigSet } from '../../src/config-set/plan.ts'
import { filesOf, makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/kill')
const never = new AbortController().signal
const CHILD = join(import.meta.dirname, '../support/apply-child.ts')
const ROUNDS = 14

/** Applies a version in another process and kills it after a while. */
async function killed(world: World, version: number, bad: string, afterMs: number): Promise<void> {
  const child = spawn(
    process.execPath,
    [CHILD, world.dir, world.copiesDir, world.engine.socket, String(version), bad],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  child.stdin.write('.')
  await Promise.race([wait(afterMs), ended])
  child.kill('SIGKILL')
  await ended
}

test('converges after being killed at any point, and never leaves half a file', async () => {
  await using world = await makeWorld()
  await applyConfigSet(world.options(filesOf('0')), never)
  for (let round = 1; round <= ROUNDS; round += 1) {
    const bad = round % 3 === 0 ? 'mme.yaml' : ''
    await killed(world, round, bad, (round * 11) % 130)
    for (const path of filesOf('0').keys())
      assert.match(await world.read(path), /^(?:# [a-z/.]+\nversion: \d+|bad)\n$/)
    if (round % 2 === 1) continue // the next one goes on from what the killed one left
    const files = filesOf(String(round))
    await applyConfigSet(world.options(files), never)
    await expectInForce(world, files)
  }
})

async function expectInForce(world: World, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, content] of files) assert.is(await world.read(path), content)
  assert.is(world.running.size, 4)
  for (const [daemon, seen] of world.running)
    for (const [path, content] of seen)
      assert.is(content, files.get(path), `${daemon} runs with another ${path}`)
  assert.ok((await planConfigSet(world.options(files))).isInSync)
  const names = await readdir(world.dir, { recursive: true })
  assert.equal(
    names.filter((name) => name.includes('steeple-tmp')),
    [],
  )
}

test.run()
