import { assert, suite } from '@steeple/testkit'
import { gnbEvent } from '../../src/process/radio-monitor.ts'
import { renderRadio } from '../../src/render/render-radio.ts'
import { freshFacts, nextFacts } from '../../src/stream/radio-facts.ts'
import { srsenbEvent } from '../../src/stream/srsenb-line.ts'
import { carrierFault } from '../../src/supervisor/running-radio.ts'
import { gnbInput, radioInput } from '../support/radio-input.ts'

const carrier = suite('driver-ran/carrier')

const ENB = renderRadio(radioInput()).cell
const GNB = renderRadio(gnbInput()).cell

function enbFault(downlink: string, uplink: string): string | undefined {
  const event = srsenbEvent(`Setting frequency: DL=${downlink} Mhz, UL=${uplink} MHz for cc_idx=0 nof_prb=25`)
  return event && carrierFault(nextFacts(freshFacts(), event, 0), ENB, false)
}

function gnbFault(downlink: string): string | undefined {
  const event = gnbEvent(
    `Cell pci=1, bw=20 MHz, 1T1R, dl_arfcn=632628 (n78), dl_freq=${downlink} MHz, dl_ssb_arfcn=1`,
  )
  return event && carrierFault(nextFacts(freshFacts(), event, 0), GNB, false)
}

carrier('sees an offset as far as the program tells it', () => {
  assert.is(enbFault('2680.0', '2560.0'), undefined)
  assert.match(enbFault('2680.1', '2560.0') ?? '', /sends at 2680.1 MHz where 2680 MHz is permitted/)
  assert.match(enbFault('2680.0', '2560.1') ?? '', /phones would send at 2560.1 MHz/)
  assert.is(gnbFault('3489.42'), undefined)
  assert.match(gnbFault('3489.46') ?? '', /sends at 3489.46 MHz where 3489.42 MHz is permitted/)
  assert.match(gnbFault('3489.43') ?? '', /sends at 3489.43 MHz/)
})

carrier.run()
