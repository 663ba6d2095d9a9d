import { suite } from '@steeple/testkit'
import { cardsConformance } from '../containers/cards-world.ts'
import {
  FURTHER_RELEASE,
  handBuiltFunctions,
  needFunctions,
  needFurtherFunctions,
} from '../containers/core-b-containers.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'

needFunctions()
needFurtherFunctions()
enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core-b-functions')
/** One slice with a differentiator, one without. */
const PLAN = { release: FURTHER_RELEASE, slices: [{ sst: 1, sd: '010203' }, { sst: 2 }] }

await cardsConformance(real, handBuiltFunctions(), PLAN)

real.run()
