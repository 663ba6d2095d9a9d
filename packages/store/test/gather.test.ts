import { assert, suite } from '@steeple/testkit'
import { createGathering, type Gathering } from '../src/writer.ts'

const gather = suite('store/gather')

/** Whether it waits before this group, to which `later` jobs come meanwhile. */
async function waits(gathering: Gathering, later: number): Promise<boolean> {
  let jobs = 1
  const wait = gathering.more(() => jobs)
  jobs += later
  await wait
  return wait !== undefined
}

gather('waits after a long commit of several jobs alone', async () => {
  const gathering = createGathering()
  assert.not.ok(await waits(gathering, 3))
  gathering.committed(4, 3.9)
  assert.not.ok(await waits(gathering, 3))
  gathering.committed(1, 50)
  assert.not.ok(await waits(gathering, 3))
  gathering.committed(2, 4)
  assert.ok(await waits(gathering, 3))
})

gather('waits each time while others come, and ever more seldom when none does', async () => {
  const gathering = createGathering()
  gathering.committed(4, 10)
  for (let n = 0; n < 5; n++) assert.ok(await waits(gathering, 1))
  const gaps: number[] = []
  for (let gap = 0; gaps.length < 9; gap++)
    if (await waits(gathering, 0)) {
      gaps.push(gap)
      gap = -1
    }
  assert.equal(gaps, [0, 2, 4, 8, 16, 32, 64, 64, 64])
  for (let n = 0; n < 64; n++) assert.not.ok(await waits(gathering, 1))
  assert.ok(await waits(gathering, 1))
  assert.ok(await waits(gathering, 1))
})

gather.run()
