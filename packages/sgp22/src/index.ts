export { child, lengthOctets, MAX_DEPTH, readAll, readOne, type Tlv, TlvError, tlv } from './tlv.ts'
