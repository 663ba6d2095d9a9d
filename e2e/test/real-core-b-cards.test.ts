import { suite } from '@steeple/testkit'
import { cardsConformance } from '../containers/cards-world.ts'
import { givenFunctions, needFunctions } from '../containers/core-b-containers.ts'
import { startDataRepository } from '../containers/data-repository.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'

needFunctions()
enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core-b-cards')
/** Of the release beside the SMF's (3.4.2): UDM and AUSF are older and read its documents; NRF, PCF and AMF are newer and take its files. */
const PLAN = {
  release: '3.4.5',
  slices: [
    { sst: 1, sd: '010203' },
    { sst: 2, sd: '0a0b0c' },
  ],
}

await cardsConformance(
  real,
  givenFunctions('nrf', 'pcf', 'amf', 'smf', 'udm', 'ausf'),
  PLAN,
  async (database) => await startDataRepository(database, { chargingNrfUrl: 'http://127.0.0.10:8000' }),
)

real.run()
