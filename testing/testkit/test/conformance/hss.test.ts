import type { HssDriver, Imsi } from '@steeple/contracts'
import { HSS_MUTANTS } from '../../src/conformance/hss.ts'
import { HSS_CHECKS } from '../../src/conformance/hss-checks.ts'
import { wrongDriver } from '../../src/conformance/mutants.ts'
import { hssDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryHss, memoryHssFixture, type Rows } from './support/memory-hss.ts'

type WrongHss = (rows: Rows) => HssDriver

function raiseSqn(rows: Rows, imsis: readonly Imsi[]): void {
  for (const imsi of imsis) {
    const row = rows.get(imsi)
    if (row !== undefined) rows.set(imsi, { ...row, sqn: row.sqn + 1n })
  }
}

/** What no mutant can do: it reaches past the right driver into the HSS. */
const PAST_THE_DRIVER: Readonly<Record<string, WrongHss>> = {
  'touches the SQN when it blocks': (rows) => {
    const right = memoryHss(rows)
    return {
      ...right,
      setBlocked: async (imsis, isBlocked, signal) => {
        const result = await right.setBlocked(imsis, isBlocked, signal)
        raiseSqn(rows, imsis)
        return result
      },
    }
  },
  'writes when it looks': (rows) => {
    const right = memoryHss(rows)
    return {
      ...right,
      observe: async (imsis, signal) => {
        raiseSqn(rows, imsis)
        return await right.observe(imsis, signal)
      },
    }
  },
}

const mutants = HSS_MUTANTS.map((mutant): readonly [string, WrongHss] => [
  mutant.what,
  (rows) => wrongDriver(memoryHss(rows), mutant),
])

hssDriverConformance('an HSS in memory', () => memoryHssFixture())
findsAll(
  'testkit/conformance/hss',
  HSS_CHECKS,
  { ...PAST_THE_DRIVER, ...Object.fromEntries(mutants) },
  memoryHssFixture,
)
