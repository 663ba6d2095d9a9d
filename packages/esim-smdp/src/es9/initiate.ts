import { randomBytes } from 'node:crypto'
import { signP1363, tlv } from '@steeple/sgp22'
import type { RspIdentity } from '../parts.ts'
import { type EuiccInfo1, isSpoken, readEuiccInfo1 } from '../rsp/euicc-info.ts'
import { readBody } from '../rsp/json-body.ts'
import { upperHex } from '../rsp/members.ts'
import { Refused } from '../rsp/refusal.ts'
import { serverSigned1 } from '../rsp/server-messages.ts'
import { CHALLENGE_OCTETS } from '../rsp/tags.ts'
import { beginSession } from '../store/session-store.ts'
import { base64, type Es9Core, isOwnAddress, understood } from './core.ts'

/** Begins a session. Throws `Refused`. SGP.22 §5.6.1. */
export async function initiateAuthentication(
  core: Es9Core,
  octets: Uint8Array,
  peer: string,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'address')
  if (!isOwnAddress(core, body.text('smdpAddress', 'address'))) throw new Refused('address')
  const euiccChallenge = body.octets('euiccChallenge', 'signature')
  if (euiccChallenge.length !== CHALLENGE_OCTETS) throw new Refused('signature')
  const info = understood('version', () => readEuiccInfo1(body.octets('euiccInfo1', 'version')))
  if (!isSpoken(info.svn)) throw new Refused('version')
  const identity = chosen(core.parts.certs.identities(), info)
  const tid = randomBytes(16)
  const serverChallenge = randomBytes(CHALLENGE_OCTETS)
  const serverAddress = core.parts.context.config.smdp_address
  const signed = serverSigned1({ tid, euiccChallenge, serverAddress, serverChallenge })
  const nowMs = core.nowMs()
  const transactionId = upperHex(tid)
  await core.parts.context.db.write((tx) =>
    beginSession(tx, {
      tid: transactionId,
      step: 'initiated',
      ci_pkid: identity.ciPkid,
      identity: identity.id,
      peer,
      svn: info.svn,
      euicc_challenge: euiccChallenge,
      server_challenge: serverChallenge,
      token: null,
      eid_hash: null,
      eid_sealed: null,
      euicc_key: null,
      signature2: null,
      created_at_ms: nowMs,
      expires_at_ms: core.sessionEndMs(nowMs),
    }),
  )
  return {
    transactionId,
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
