import { randomBytes, randomInt } from 'node:crypto'
import { base64Key, bytesNeedle, type Needle, textNeedle } from './needles.ts'

/** Texts that are given to a service under test, drawn anew for each run. */
export interface SecretTexts {
  /** Of the subscriber whose card is imported. */
  readonly ki: string
  readonly opc: string
  readonly imsi: string
  /** Of someone: it is put into every place that does not ask for one. */
  readonly password: string
  /** The secret of a plugin. */
  readonly sealed: string
  /** A preshared key of WireGuard. */
  readonly psk: string
  /** What a receiver of alerts lets in: a token, a topic, the path of a URL, a password. */
  readonly receiver: string
  /** What somebody types into a field that takes it: data, no secret. */
  readonly typed: string
}

export function drawTexts(): SecretTexts {
  return {
    ki: randomBytes(16).toString('hex'),
    opc: randomBytes(16).toString('hex'),
    imsi: `99999${Array.from({ length: 10 }, () => randomInt(10)).join('')}`,
    // With an underscore it is no name of an access point: a plan for those that are asked for names them.
    password: `correct_Horse-${randomBytes(12).toString('base64url')}`,
    sealed: `sealed-${randomBytes(18).toString('base64url')}`,
    psk: randomBytes(32).toString('base64'),
    receiver: `receiver-${randomBytes(18).toString('base64url')}`,
    typed: `typed by someone ${randomBytes(8).toString('hex')}`,
  }
}

/** What of them may be nowhere. The password is searched apart, since some answers name what they refuse. */
export function needlesOf({ ki, opc, imsi, sealed, psk, receiver }: SecretTexts): readonly Needle[] {
  return [
    textNeedle('the secret of a plugin', sealed),
    ...base64Key('a preshared key', psk),
    textNeedle('a secret of a receiver of alerts', receiver),
    textNeedle('Ki', ki),
    bytesNeedle('Ki, the bytes', Buffer.from(ki, 'hex')),
    textNeedle('OPc', opc),
    bytesNeedle('OPc, the bytes', Buffer.from(opc, 'hex')),
    textNeedle('the IMSI', imsi),
  ]
}
