import { readFileSync } from 'node:fs'
import { checkEuiccChain, child, type EuiccIdentity, readOne, verifyP1363 } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { smdpSigned2 } from '../src/es9/authenticate.ts'
import { serverSigned1 } from '../src/es9/es9.ts'
import {
  type OtherNotice,
  readAuthenticateResponse,
  readDownloadResponse,
  readNotification,
} from '../src/rsp/euicc-messages.ts'

const recordings = suite('esim-smdp/recorded')

type Message =
  | 'ci'
  | 'authenticateServer'
  | 'authenticateServerResponse'
  | 'prepareDownload'
  | 'prepareDownloadResponse'
  | 'installResult'
/** One session of an eUICC with a server, both of other makes, as lpac carried it. */
const said = JSON.parse(
  readFileSync(new URL('./fixtures/recorded-session.json', import.meta.url), 'utf8'),
) as Readonly<Record<Message, string>> & { readonly notices: readonly string[] }
const octets = (hex: string): Uint8Array => Buffer.from(hex, 'hex')
const hex = (of: Uint8Array | undefined): string => Buffer.from(of ?? []).toString('hex')
const TID = '0D8D799B51BD4050B71520C72428808E'
const AT_MS = Date.UTC(2027, 0, 1)

const authenticated = readAuthenticateResponse(octets(said.authenticateServerResponse))
if (!authenticated.isOk) throw new Error('the recorded eUICC authenticated itself')

function proven(of: { readonly euicc: Uint8Array; readonly eum: Uint8Array }): EuiccIdentity {
  const found = checkEuiccChain({ ...of, ci: octets(said.ci), nowMs: AT_MS })
  if ('code' in found) throw new Error(found.message)
  return found
}

recordings('would have said to the eUICC what the recorded server said', () => {
  const [first] = readOne(octets(said.authenticateServer)).children()
  assert.ok(first !== undefined)
  const of = (tag: number): Uint8Array => child(first, tag)?.value ?? new Uint8Array()
  const { serverAddress, serverChallenge } = authenticated
  const made = serverSigned1({ tid: octets(TID), euiccChallenge: of(0x81), serverAddress, serverChallenge })
  assert.is(hex(made), hex(first.raw))
  const [second] = readOne(octets(said.prepareDownload)).children()
  assert.is(hex(smdpSigned2(octets(TID), false)), hex(second?.raw))
})

recordings('believes the recorded eUICC who it is', () => {
  const { eid, publicKey } = proven(authenticated)
  assert.match(eid, /^8904903212345123451234567890\d{4}$/)
  assert.is(authenticated.tid, TID)
  assert.is(authenticated.matchingId, 'GTP7-NORAM')
  assert.equal(authenticated.info.svn, Buffer.of(2, 4, 0))
  assert.ok(verifyP1363(publicKey, authenticated.signature, authenticated.signed))
})

recordings('takes its wish for a profile, which it has signed over what the server did', () => {
  const prepared = readDownloadResponse(octets(said.prepareDownloadResponse))
  if (!prepared.isOk) throw new Error('the recorded eUICC wanted the profile')
  const [, signature2] = readOne(octets(said.prepareDownload)).children()
  assert.ok(signature2 !== undefined)
  assert.equal([prepared.tid, prepared.otpk.length, prepared.hashCc], [TID, 65, undefined])
  const { publicKey } = proven(authenticated)
  assert.ok(verifyP1363(publicKey, prepared.signature, prepared.signed, signature2.raw))
  assert.not.ok(verifyP1363(publicKey, prepared.signature, prepared.signed))
})

recordings('takes the result of the installation, and the notifications behind it', () => {
  const { publicKey } = proven(authenticated)
  const notices = said.notices.map((list) => {
    const [notice] = child(readOne(octets(list)), 0xa0)?.children() ?? []
    return notice?.raw ?? new Uint8Array()
  })
  const [listed, ...rest] = notices
  assert.is(hex(listed), said.installResult, 'what is told later is what was answered')
  const result = readNotification(octets(said.installResult))
  assert.equal([result.kind, result.event, result.seq], ['result', 'install', 1])
  if (result.kind !== 'result') return
  assert.equal([result.tid, result.failure], [TID, undefined])
  assert.ok(verifyP1363(publicKey, result.signature, result.signed))
  const others = rest.map(readNotification)
  assert.equal(
    others.map(({ kind, event, seq }) => [kind, event, seq]),
    [
      ['other', 'enable', 2],
      ['other', 'disable', 3],
      ['other', 'delete', 4],
    ],
  )
  for (const other of others as readonly OtherNotice[]) {
    assert.is(other.iccid, result.iccid)
    assert.ok(verifyP1363(proven(other).publicKey, other.signature, other.signed))
  }
})

recordings.run()
