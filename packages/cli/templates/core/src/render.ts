import { createHash } from 'node:crypto'
import { type CoreDesired, type Rendered, validationFailed } from '@steeple/contracts'

/** TS 23.003 §9.1: an APN network identifier has at most 63 octets, in labels as DNS has them. */
const APN = /^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** The core's files. Pure: the same settings give the same bytes. Throws `validation_failed`. */
export function render(desired: CoreDesired): Rendered {
  const wrong = desired.apns.find((apn) => !APN.test(apn))
  if (wrong !== undefined) throw validationFailed(`${JSON.stringify(wrong)} is no APN`)
  const files = new Map([
    ['network.json', jsonFile({ mcc: desired.plmn.mcc, mnc: desired.plmn.mnc, tac: desired.tac })],
    ['subscribers.json', jsonFile({ apns: desired.apns, max_ues: desired.maxUes })],
  ])
  return { files, sha256: sha256Of(files) }
}

/** SHA-256 over names and contents in the order of the names, 64 hex characters. */
export function sha256Of(files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256')
  for (const [name, content] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(JSON.stringify([name, content]))
  return hash.digest('hex')
}

function jsonFile(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
