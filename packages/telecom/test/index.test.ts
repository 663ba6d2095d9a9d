import { assert, suite } from '@steeple/testkit'
import * as telecom from '../src/index.ts'

const index = suite('telecom/index')

index('offers its surface by name', () => {
  assert.equal(Object.keys(telecom).sort(), [
    'apnProblem',
    'bandwidthsMhz',
    'carrierEdgesMhz',
    'carriersOf',
    'channelsAtKhz',
    'downlinkSpan',
    'earfcnFromKhz',
    'escapedHtml',
    'formatPlmn',
    'iccidFrom',
    'imsiFrom',
    'imsiHash',
    'inGroups',
    'isImsiOf',
    'isMcc',
    'isMnc',
    'isTac',
    'isUsableCarrier',
    'khzFromMhz',
    'khzFromNrArfcn',
    'lteChannel',
    'luhnCheckDigit',
    'mhzFromKhz',
    'milenageF1',
    'milenageF2345',
    'nrArfcnFromKhz',
    'nrChannel',
    'nrRasterStepKhz',
    'opcFrom',
    'parseApn',
    'parseEarfcn',
    'parseIccid',
    'parseImsi',
    'parseImsiHash',
    'parseNrArfcn',
    'parsePlmn',
    'printedPage',
    'safeText',
    'storableName',
    'tacMax',
  ])
})

index.run()
