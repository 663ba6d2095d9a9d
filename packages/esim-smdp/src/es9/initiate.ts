import { signP1363, tlv } from '@steeple/sgp22'
import type { RspIdentity } from '../parts.ts'
import { type EuiccInfo1, isSpoken, readEuiccInfo1 } from '../rsp/euicc-info.ts'
import { readBody } from '../rsp/json-body.ts'
import { upperHex } from '../rsp/members.ts'
import { Refused } from '../rsp/refusal.ts'
import { serverSigned1 } from '../rsp/server-messages.ts'
import { CHALLENGE_OCTETS } from '../rsp/tags.ts'
import { base64, type Es9Core, isOwnAddress, understood } from './core.ts'

/** Begins a session. Throws `Refused`. SGP.22 §5.6.1. */
export async function initiateAuthentication(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'address')
  if (!isOwnAddress(core, body.text('smdpAddress', 'address'))) throw new Refused('address')
  const euiccChallenge = body.octets('euiccChallenge', 'signature')
  if (euiccChallenge.length !== CHALLENGE_OCTETS) throw new Refused('signature')
  const info = understood('version', () => readEuiccInfo1(body.octets('euiccInfo1', 'version')))
  if (!isSpoken(info.svn)) throw new Refused('version')
  const identity = chosen(core.parts.certs.identities(), info)
  const begun = await core.beginnings.begin({ identity, svn: info.svn, nowMs: core.nowMs() })
  const serverAddress = core.parts.context.config.smdp_address
  const signed = serverSigned1({ ...begun, euiccChallenge, serverAddress })
  return {
    transactionId: upperHex(begun.tid),
    serverSigned1: base64(signed),
    serverSignature1: base64(signP1363(identity.auth.key, signed)),
    euiccCiPKIdToBeUsed: base64(tlv(0x04, Buffer.from(identity.ciPkid, 'hex'))),
    serverCertificate: base64(identity.auth.der),
  }
}

/**
 * The identity that the eUICC can check and has a key for, the one that it likes best. Both lists must name its CI: what
 * signs here and what the eUICC signs with hang on one. Throws `Refused`.
 */
function chosen(identities: readonly RspIdentity[], info: EuiccInfo1): RspIdentity {
  const known = identities.filter(({ ciPkid }) => info.verification.includes(ciPkid))
  if (known.length === 0) throw new Refused('verification_ci')
  for (const pkid of info.signing) {
    const identity = known.find(({ ciPkid }) => ciPkid === pkid)
    if (identity !== undefined) return identity
  }
  throw new Refused('signing_ci')
}
