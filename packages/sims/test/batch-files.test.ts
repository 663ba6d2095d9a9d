import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { healthBoardRef } from '@steeple/contracts'
import { assert, eventually, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { isBatchWhole } from '../src/batch/batch-files.ts'
import { plugin } from '../src/plugin.ts'
import { bodyOf, type IssueAnswer } from './support/answers.ts'

const files = suite('sims/batch-files')
let bed: Testbed
let version = 0

files.before(
  async () => {
    const { startTestbed } = await loadTestbed()
    bed = await startTestbed({
      plugins: [await pluginFrom(import.meta.url, plugin)],
      settings: { hss: { driver: 'none' } },
    })
  },
  { limitMs: 360_000 },
)
files.after(() => bed.stop())

const issue = async (body: object): Promise<IssueAnswer> =>
  bodyOf(await bed.request('POST', '/v1/sims', { body }), 201)
const isWhole = (batch: IssueAnswer): Promise<boolean> =>
  isBatchWhole(bed.dataDir, batch.batch_id, batch.issued)
/** Another copy of the plugin starts, as after a crash. */
const startAgain = async (): Promise<void> =>
  bed.load({ ...(await pluginFrom(import.meta.url, plugin)), version: `9.0.${++version}` })
const manifestOf = (batch: IssueAnswer): { readonly sims: readonly object[] } =>
  JSON.parse(readFileSync(join(batch.output_dir, 'manifest.json'), 'utf8'))
const filesHealth = (): unknown =>
  bed
    .service(healthBoardRef)
    ?.components()
    .find(({ name }) => name.endsWith('batch_files'))

files('has whole files in the directory of a batch when it answers', async () => {
  for (const count of [1, 2, 100]) assert.ok(await isWhole(await issue({ count })))
})

files('writes anew at its start what a crash has damaged, with the same content', async () => {
  const batches = [await issue({ count: 3 }), await issue({ count: 5 }), await issue({}), await issue({})]
  const [gone, cut, empty, swapped] = batches as [IssueAnswer, IssueAnswer, IssueAnswer, IssueAnswer]
  const before = batches.map((batch) => manifestOf(batch).sims)
  rmSync(gone.output_dir, { recursive: true })
  truncateSync(join(cut.output_dir, 'cards.csv.sealed'), 100)
  writeFileSync(join(empty.output_dir, 'manifest.json'), '')
  const other = readFileSync(join(cut.output_dir, 'manifest.json'))
  writeFileSync(join(swapped.output_dir, 'manifest.json'), other)
  for (const batch of batches) assert.not.ok(await isWhole(batch))
  await startAgain()
  await eventually(async () => {
    for (const batch of batches) {
      assert.ok(await isWhole(batch))
      // While a file is written anew, it lies beside the one whose place it takes.
      assert.equal(readdirSync(batch.output_dir).sort(), ['cards.csv.sealed', 'manifest.json'])
    }
  })
  assert.equal(
    batches.map((batch) => manifestOf(batch).sims),
    before,
  )
})

files(
  'issues although the disk takes no files, says so, and writes them later',
  async () => {
    const folder = join(bed.dataDir, 'batches')
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'in the way')
    const batch = await issue({ count: 2 })
    await eventually(() => assert.match(JSON.stringify(filesHealth()), /degraded.*have no files: E/))
    rmSync(folder)
    mkdirSync(folder)
    // What lay there is found missing, too.
    await startAgain()
    await eventually(async () => {
      assert.ok(await isWhole(batch))
      assert.ok(readdirSync(folder).length > 5)
      assert.match(JSON.stringify(filesHealth()), /"ok"/)
    })
    assert.ok(existsSync(batch.output_dir))
  },
  { limitMs: 360_000 },
)

files.run()
