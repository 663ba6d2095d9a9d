import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, rounds, suite } from '@steeple/testkit'
import { makeBuild } from '../harness/builds/make-build.ts'
import type { Box } from '../harness/mesh/box.ts'
import { ask, joinMesh, MESH_LIMIT, type Village, village } from '../harness/mesh/mesh.ts'
import { buildKey, signedCopy } from '../harness/upgrade/signed-builds.ts'

enterOwnMachine(import.meta.filename)

const software = suite('e2e/software-mesh')
/** Boxes of the hub. */
const BOXES = rounds(2)
/** A trial, and as much again for a machine that has other work. */
const PATIENCE_MS = 300_000 * rounds(1)
const LIMIT = { limitMs: MESH_LIMIT.limitMs * rounds(1) }
const key = buildKey()

let folder: string
let installed: string
let all: Village
let hub: Box
let boxes: readonly Box[]

software.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-software-'))
  installed = (await makeBuild(join(folder, 'installed'), ['--only', 'driver-hss,groups,mesh'])).folder
  const config = `groups: {build_keys: ["${key.publicKey} builders"], trial: ${60 * rounds(1)}s}\n`
  all = await village(1 + BOXES, () => ({}), { build: installed, config })
  hub = all.root
  boxes = all.boxes.filter((box) => box !== hub)
  for (const box of boxes) {
    await joinMesh(box, hub)
    await ask(box, 'PUT', '/v1/steering', { permitted: ['software'] })
  }
}, LIMIT)

software.after(async () => {
  await all?.end()
  rmSync(folder, { recursive: true, force: true })
})

async function runningOn(box: Box): Promise<unknown> {
  const { status, body } = await box.ask('GET', '/v1/software').catch(() => ({ status: 0, body: undefined }))
  return status === 200 ? body.running.build : undefined
}

/** kill -9 wherever it is, and another one with what is kept. */
async function killed(box: Box): Promise<void> {
  await box.kill()
  await box.start()
}

async function group(state: object): Promise<void> {
  await ask(hub, 'PUT', '/v1/groups/villages', { members: { all: true }, state })
}

async function rollout(build: string): Promise<{
  readonly stage: string
  readonly given: readonly string[]
  readonly stopped_by: string | null
}> {
  const { rollouts } = await ask(hub, 'GET', '/v1/software')
  return rollouts.find((one: { readonly build: string }) => one.build === build)
}

function boxOf(nodeId: string | undefined): Box {
  const found = boxes.find((box) => box.nodeId === nodeId)
  if (found === undefined) throw new Error(`no box is ${nodeId}`)
  return found
}

let next: string

software(
  'a build goes to one box, and to the others when that one is well; each is killed meanwhile',
  async () => {
    next = signedCopy(installed, join(hub.dataDir, 'builds/next'), key, { minutes: 10 })
    const begun = performance.now()
    await group({ software: { build: next, settle_minutes: 0 } })
    const { given } = await rollout(next)
    assert.is(given.length, 1)
    const first = boxOf(given[0])
    await killed(first)
    await eventually(async () => {
      const isWell = (await runningOn(first)) === next
      const { given: now } = await rollout(next)
      assert.ok(isWell || now.length === 1, 'others were given it before the first ran it')
      return isWell
    }, PATIENCE_MS)
    const seconds = (): number => Math.round((performance.now() - begun) / 1_000)
    process.stdout.write(`\n# the first box runs it after ${seconds()} s`)
    const others = boxes.filter((box) => box !== first)
    for (const box of others) {
      await eventually(async () => (await rollout(next)).given.includes(box.nodeId), PATIENCE_MS)
      await killed(box)
    }
    for (const box of boxes)
      await eventually(
        async () => assert.is(await runningOn(box), next, box.output().slice(-2_000)),
        PATIENCE_MS,
      )
    process.stdout.write(`, all ${boxes.length} after ${seconds()} s\n`)
    await eventually(async () => {
      const { boxes: told } = await ask(hub, 'GET', '/v1/desired-state')
      assert.equal(
        told.map(({ standing }: { readonly standing: string }) => standing),
        boxes.map(() => 'in_step'),
        JSON.stringify(told),
      )
    }, PATIENCE_MS)
    assert.is((await rollout(next)).stage, 'all')
  },
  LIMIT,
)

software(
  'a build that is not well goes to one box alone, which goes back; the hub says which',
  async () => {
    const ill = signedCopy(installed, join(hub.dataDir, 'builds/ill'), key, {
      minutes: 20,
      files: { 'bin/svc': '#!/bin/sh\nexit 1\n' },
    })
    await group({ software: { build: ill, settle_minutes: 0 } })
    await eventually(async () => assert.is((await rollout(ill)).stage, 'stopped'), PATIENCE_MS)
    const { given, stopped_by: by } = await rollout(ill)
    assert.equal(given, [by])
    for (const box of boxes) {
      await eventually(async () => assert.is(await runningOn(box), next), PATIENCE_MS)
      const { wanted } = await ask(box, 'GET', '/v1/software')
      assert.is(wanted.build, box.nodeId === by ? ill : next)
    }
    const { parts } = (await ask(hub, 'GET', '/v1/desired-state')).boxes.find(
      ({ node_id: id }: { readonly node_id: string }) => id === by,
    )
    assert.match(JSON.stringify(parts), /went back/)
    await eventually(async () => {
      const { components } = await ask(hub, 'GET', '/v1/health')
      assert.match(JSON.stringify(components), /goes to no more boxes/)
    }, PATIENCE_MS)
  },
  LIMIT,
)

software.run()
