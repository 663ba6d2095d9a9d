import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import { makeBuild } from '../harness/builds/make-build.ts'
import type { Box } from '../harness/mesh/box.ts'
import { joinMesh, MESH_LIMIT, type Village, village, WAIT_MS } from '../harness/mesh/mesh.ts'
import { buildKey, signedCopy } from '../harness/upgrade/signed-builds.ts'

enterOwnMachine(import.meta.filename)

const software = suite('e2e/software-mesh')
const COUNT = 4
const key = buildKey()

let folder: string
let installed: string
let all: Village
let hub: Box
let boxes: readonly Box[]

software.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-software-'))
  installed = (await makeBuild(join(folder, 'installed'), ['--only', 'driver-hss,groups,mesh'])).folder
  const config = `groups: {build_keys: ["${key.publicKey} builders"], trial: 30s}\n`
  all = await village(COUNT, () => ({}), { build: installed, config })
  hub = all.root
  boxes = all.boxes.filter((box) => box !== hub)
  for (const box of boxes) {
    await joinMesh(box, hub)
    await ask(box, 'PUT', '/v1/steering', { permitted: ['software'] })
  }
}, MESH_LIMIT)

software.after(async () => {
  await all?.end()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(at: Box, method: string, path: string, body?: unknown) {
  const answer = await at.ask(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

async function runningOn(box: Box): Promise<unknown> {
  const { status, body } = await box.ask('GET', '/v1/software').catch(() => ({ status: 0, body: undefined }))
  return status === 200 ? body.running.build : undefined
}

async function group(state: object): Promise<void> {
  await ask(hub, 'PUT', '/v1/groups/villages', { members: { all: true }, state })
}

software(
  'boxes fetch a build that the hub has, one is killed meanwhile, and all run it in the end',
  async () => {
    const next = signedCopy(installed, join(hub.dataDir, 'builds/next'), key, { minutes: 10 })
    const begun = performance.now()
    await group({ software: { build: next } })
    const [first] = boxes
    if (first === undefined) throw new Error('there is no box')
    await first.kill()
    await first.start()
    for (const box of boxes)
      await eventually(async () => assert.is(await runningOn(box), next, box.output().slice(-2_000)), WAIT_MS)
    process.stdout.write(
      `\n# ${boxes.length} boxes run the next build after ${Math.round((performance.now() - begun) / 1_000)} s\n`,
    )
    await eventually(async () => {
      const { boxes: told } = await ask(hub, 'GET', '/v1/desired-state')
      assert.equal(
        told.map(({ standing }: { readonly standing: string }) => standing),
        boxes.map(() => 'in_step'),
        JSON.stringify(told),
      )
    }, WAIT_MS)
  },
  MESH_LIMIT,
)

software.run()
