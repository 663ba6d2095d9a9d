import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { isWithin } from '../../src/software/terms.ts'
import {
  endTrial,
  readTrial,
  type Standing,
  standingBefore,
  worseThan,
  writeTrial,
} from '../../src/software/trial.ts'

const trial = suite('groups/software-trial')
const WELL: Standing = { plugins: ['hss', 'policy'], ailing: {}, hub: true }

trial('what the launcher is told is read again, and gone at the end of a trial', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-trial-'))
  try {
    assert.is(readTrial(dir), undefined)
    await writeTrial(dir, { to: 'next', from: 'installed', limitS: 600 }, WELL)
    assert.is(readFileSync(join(dir, 'trial'), 'utf8'), 'copy next installed 600 - 0 0\n')
    assert.equal(standingBefore(dir), WELL)
    writeFileSync(join(dir, 'trial'), 'new next installed 600 1b2c 77 1\n')
    assert.equal(readTrial(dir), { phase: 'new', to: 'next', from: 'installed', limitS: 600, begunS: 77 })
    await endTrial(dir, 'next')
    assert.is(readTrial(dir), undefined)
    await endTrial(dir, 'other')
    await endTrial(dir, 'installed')
    writeFileSync(join(dir, 'trial'), 'something else\n')
    assert.is(readTrial(dir), undefined)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

trial(
  'a box is worse where a plugin is gone, a required component ails that did not, or the hub is silent',
  () => {
    assert.is(worseThan(WELL, WELL), undefined)
    assert.is(worseThan(WELL, { ...WELL, plugins: ['hss'] }), 'the plugin policy does not run')
    assert.is(worseThan(WELL, { ...WELL, ailing: { store: 'down' } }), 'store is down')
    assert.is(
      worseThan({ ...WELL, ailing: { store: 'down' } }, { ...WELL, ailing: { store: 'down' } }),
      undefined,
    )
    assert.is(worseThan(WELL, { ...WELL, hub: false }), 'the root of the mesh does not answer')
    assert.is(worseThan({ ...WELL, hub: false }, { ...WELL, hub: false }), undefined)
    assert.is(worseThan(WELL, { plugins: ['new', 'hss', 'policy'], ailing: {}, hub: true }), undefined)
  },
)

trial('hours are a span of the day, across midnight too: each hour is in it or in the rest', () => {
  const hour = fc.integer({ min: 0, max: 23 })
  fc.assert(
    fc.property(hour, hour, hour, (from, to, at) => {
      const ms = Date.UTC(2026, 0, 1, at, 30)
      const inside = isWithin({ from, to }, ms)
      if (from === to) return inside
      const length = (to - from + 24) % 24
      return inside === (at - from + 24) % 24 < length && inside !== isWithin({ from: to, to: from }, ms)
    }),
  )
  assert.ok(isWithin(undefined, 0))
})

trial.run()
