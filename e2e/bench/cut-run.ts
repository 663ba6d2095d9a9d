import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { enterOwnNetwork, eventually } from '@steeple/testkit'
import { INTERVAL_MS, startMeteredLab } from '../harness/metered-lab.ts'

// Measures how soon phones are gone that go over their quota, one after the other; prints the times in ms as JSON.
enterOwnNetwork(import.meta.filename)

const PHONES = 20
const ALLOWANCE = 500_000
const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
const world = await startMeteredLab(folder)
try {
  const cards = await world.issue(PHONES)
  await world.insert(cards)
  const took: number[] = []
  for (const { hash } of cards) {
    // At no particular moment of the interval.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * INTERVAL_MS))
    await world.post(`/v1/sims/${hash}/quota`, { quota_bytes: ALLOWANCE, period: 'day' })
    await world.phone(hash, 'traffic', { up_kbps: 2_000, down_kbps: 18_000 })
    await eventually(async () => {
      const { up, down } = await world.moved(hash)
      return up + down > ALLOWANCE
    })
    const from = performance.now()
    await eventually(async () => (await world.phone(hash)).ipv4 === null)
    took.push(performance.now() - from)
  }
  process.stdout.write(JSON.stringify({ intervalMs: INTERVAL_MS, took }))
} finally {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
}
