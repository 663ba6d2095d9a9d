import { RAN_CHECKS } from '../../src/conformance/ran.ts'
import { ranDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryCellFixture, memoryRadioFixture } from './support/memory-radio.ts'
import { WRONG_CELLS, WRONG_RADIOS, type WrongRadio } from './support/wrong-radio.ts'

ranDriverConformance('a radio in memory', () => memoryRadioFixture())
ranDriverConformance('a cell in memory', () => memoryCellFixture())

const made = (wrong: Readonly<Record<string, WrongRadio>>, fixture: typeof memoryRadioFixture) =>
  Object.entries(wrong).map(([what, make]) => [what, () => fixture(make)] as const)

findsAll(
  'testkit/conformance/ran',
  RAN_CHECKS,
  Object.fromEntries([...made(WRONG_RADIOS, memoryRadioFixture), ...made(WRONG_CELLS, memoryCellFixture)]),
  (make) => make(),
)
