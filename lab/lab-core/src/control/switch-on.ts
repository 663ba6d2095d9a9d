import type { LabClock } from '../clock.ts'
import type { Phone } from '../phones/phone.ts'

/** What is switched. */
type Switched = Pick<Phone, 'powerOff' | 'powerOn' | 'state'>

/** A box tells its HSS of a new SIM within moments of its issue; a download may be faster. */
const KNOWN_WITHIN_MS = 5_000
const PAUSE_MS = 100

/**
 * Switches a phone on. One that the network does not know (yet) holds its card for no good from then on, as TS 24.301
 * §5.5.1.2.5 has it: it is switched off and on again for a while, as its owner would do. Resolves when it is not barred
 * or the while is over.
 */
export async function switchOn(phone: Switched, clock: LabClock): Promise<void> {
  phone.powerOn()
  for (let waited = 0; waited < KNOWN_WITHIN_MS; waited += PAUSE_MS) {
    if (phone.state === 'barred') {
      phone.powerOff()
      phone.powerOn()
    } else if (phone.state !== 'attaching') return
    await clock.sleep(PAUSE_MS)
  }
}
