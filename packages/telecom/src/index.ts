export type { MilenageKeys } from './auth/milenage.ts'
export { milenageF1, milenageF2345, opcFrom } from './auth/milenage.ts'
export { downlinkBands, downlinkSpan } from './bands/band-span.ts'
export { bandwidthsMhz } from './bands/bandwidths.ts'
export type { Carrier, CarrierBlock, CarrierProblemCode } from './bands/carrier.ts'
export { isUsableCarrier } from './bands/carrier.ts'
export { carriersOf, channelsAtKhz } from './bands/carriers-of.ts'
export { khzFromMhz, mhzFromKhz } from './bands/channel-number.ts'
export { lteChannel } from './bands/lte-channel.ts'
export { nrChannel, nrRasterStepKhz } from './bands/nr-channel.ts'
export { alphaIdentifier, spnOctets } from './card/alpha-identifier.ts'
export {
  accessClass,
  codeOctets,
  iccidOctets,
  imsiOctets,
  plmnOctets,
  plmnOf,
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
export { luhnCheckDigit, parseIccid } from './identity/iccid.ts'
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
