import { plmnOf } from './coding.ts'
import { ELEMENT } from './elements.ts'
import { withRecord, withRoomFor } from './files.ts'
import { type Step, withElements } from './steps.ts'
import { withEach } from './tree.ts'

const text = new TextEncoder()
/** Tag of a name in the files of an ISIM. TS 31.103 §4.2.2. */
const NAME = 0x80

/** The home domain of an IMSI: `ims.mnc001.mcc001.3gppnetwork.org`. TS 23.003 §13.2. */
export function imsDomain(imsi: string, mncLength: 2 | 3): string {
  const { mcc, mnc } = plmnOf(imsi, mncLength)
  return `ims.mnc${mnc.padStart(3, '0')}.mcc${mcc}.3gppnetwork.org`
}

/** Domain, private and one public identity of the ISIM, derived from the IMSI; other public ones are taken out. TS 23.003 §13.2–13.4B. */
export const withIms: Step = (elements, facts, keep) => {
  const domain = imsDomain(facts.imsi, facts.mncLength)
  const named = (words: string): Uint8Array => {
    const octets = text.encode(words)
    return keep(Uint8Array.of(NAME, octets.length, ...octets))
  }
  return withElements(elements, ELEMENT.isim, (piece) => {
    const impi = withEach(piece, 0xa3, (file) => withRoomFor(file, named(`${facts.imsi}@${domain}`)))
    const impu = withEach(impi, 0xa4, (file) => withRecord(file, named(`sip:${facts.imsi}@${domain}`)))
    return withEach(impu, 0xa5, (file) => withRoomFor(file, named(domain)))
  })
}
