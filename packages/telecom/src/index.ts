export type { MilenageKeys } from './auth/milenage.ts'
export { milenageF1, milenageF2345, opcFrom } from './auth/milenage.ts'
export { bandwidthsMhz, downlinkBands, downlinkSpan } from './bands/band.ts'
export { type Carrier, type CarrierBlock, type CarrierProblemCode, isUsableCarrier } from './bands/carrier.ts'
export { carriersOf, channelsAtKhz } from './bands/carriers-of.ts'
export { khzFromMhz, mhzFromKhz } from './bands/channel-number.ts'
export { lteChannel } from './bands/lte-channel.ts'
export { nrChannel, nrRasterStepKhz } from './bands/nr-channel.ts'
export {
  accessClass,
  alphaIdentifier,
  codeOctets,
  iccidOctets,
  imsiOctets,
  luhnCheckDigit,
  parseIccid,
  plmnOctets,
  plmnOf,
  spnOctets,
  swapped,
} from './card/card-octets.ts'
export {
  type CsvRecord,
  csvLines,
  delimiterOf,
  type LineSpan,
  MARK,
  readableCsv,
  readRecord,
  wholeCells,
} from './csv/csv.ts'
export { apnProblem, parseApn } from './identity/apn.ts'
export type { Plmn } from './identity/imsi.ts'
export {
  formatPlmn,
  imsiFrom,
  imsiHash,
  isImsiOf,
  isMcc,
  isMnc,
  isTac,
  parseImsi,
  parseImsiHash,
  parsePlmn,
  tacMax,
} from './identity/imsi.ts'
export { escapedHtml, inGroups, printedPage, safeText, storableName } from './identity/safe-text.ts'
