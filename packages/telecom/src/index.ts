export type { MilenageKeys, MilenageMac, MilenageVector } from './auth/milenage.ts'
export { milenageF1, milenageF2345, opcFrom } from './auth/milenage.ts'
export type { ChannelDirection, Duplex } from './bands/band-row.ts'
export type { BandSpan } from './bands/band-span.ts'
export { downlinkBands, downlinkSpan } from './bands/band-span.ts'
export { bandwidthsMhz } from './bands/bandwidths.ts'
export type { Carrier, CarrierBlock, CarrierProblem, CarrierProblemCode } from './bands/carrier.ts'
export { carrierEdgesMhz, isUsableCarrier } from './bands/carrier.ts'
export type { CarriersOptions } from './bands/carriers-of.ts'
export { carriersOf, channelsAtKhz } from './bands/carriers-of.ts'
export type { Earfcn, NrArfcn } from './bands/channel-number.ts'
export { khzFromMhz, mhzFromKhz, parseEarfcn, parseNrArfcn } from './bands/channel-number.ts'
export type { LteChannel } from './bands/lte-channel.ts'
export { earfcnFromKhz, lteChannel } from './bands/lte-channel.ts'
export type { NrCarrierOptions } from './bands/nr-carrier.ts'
export type { NrBandPosition, NrChannel } from './bands/nr-channel.ts'
export { khzFromNrArfcn, nrArfcnFromKhz, nrChannel, nrRasterStepKhz } from './bands/nr-channel.ts'
export type { Branded } from './brand.ts'
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
export type { Apn } from './identity/apn.ts'
export { apnProblem, parseApn } from './identity/apn.ts'
export type { Iccid } from './identity/iccid.ts'
export { iccidFrom, luhnCheckDigit, parseIccid } from './identity/iccid.ts'
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
