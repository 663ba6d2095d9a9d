import { RAN_CHECKS } from '../../src/conformance/ran.ts'
import { ranDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryRadioFixture } from './support/memory-radio.ts'
import { WRONG_RADIOS } from './support/wrong-radio.ts'

ranDriverConformance('a radio in memory', () => memoryRadioFixture())
findsAll('testkit/conformance/ran', RAN_CHECKS, WRONG_RADIOS, memoryRadioFixture)
