import { child, readOne, tlv } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { AUTHENTICATE_ERROR, BPP_COMMAND, BPP_ERROR, CANCEL_REASON, DOWNLOAD_ERROR } from '../src/codes.ts'
import { Es9Error } from '../src/es9-client.ts'
import { createEuicc, type Euicc } from '../src/euicc.ts'
import { downloadProfile, LpaError, type LpaStep } from '../src/lpa.ts'
import { fromHex } from '../src/octets.ts'
import { certificate, chain, EID, fixture } from './support/pki.ts'
import { CODE, metadata, type SmallSmdp, smallSmdp, type Twists } from './support/small-smdp.ts'

const refusals = suite('virtual-euicc/refusals')

function newEuicc(profilesMax?: number): Euicc {
  return createEuicc({
    eid: EID,
    chains: [chain('P-256'), chain('brainpoolP256r1')],
    ...(profilesMax === undefined ? {} : { profilesMax }),
  })
}

interface Ended {
  readonly step: LpaStep
  readonly code: number | undefined
  readonly smdp: SmallSmdp
  readonly euicc: Euicc
}

async function ended(twists: Twists, euicc: Euicc = newEuicc(), more: object = {}): Promise<Ended> {
  const smdp = smallSmdp(twists)
  try {
    await downloadProfile({ euicc, activationCode: CODE, transport: smdp.transport, ...more })
  } catch (error) {
    if (error instanceof LpaError) return { step: error.step, code: error.code, smdp, euicc }
    throw error
  }
  throw new Error('the download went well')
}

function changed(
  name: string,
  field: string,
  at: (octets: Uint8Array) => void,
): NonNullable<Twists['answer']> {
  return (called, answer) => {
    const octets = Uint8Array.from(Buffer.from(answer[field] ?? '', 'base64'))
    if (called !== name) return answer
    at(octets)
    return { ...answer, [field]: Buffer.from(octets).toString('base64') }
  }
}

function flipped(index: number): (octets: Uint8Array) => void {
  return (octets) => {
    const at = index < 0 ? octets.length + index : index
    octets[at] = (octets[at] ?? 0) ^ 1
  }
}

const SERVER: readonly (readonly [string, Twists, number])[] = [
  [
    'a certificate of another role',
    { dpauth: certificate('P-256', 'dppb') },
    AUTHENTICATE_ERROR.invalidCertificate,
  ],
  [
    'a certificate of an eUICC',
    { dpauth: certificate('P-256', 'euicc') },
    AUTHENTICATE_ERROR.invalidCertificate,
  ],
  [
    'the certificate of the CI',
    { dpauth: certificate('P-256', 'ci') },
    AUTHENTICATE_ERROR.invalidCertificate,
  ],
  [
    'a key of another curve',
    { dpauth: certificate('brainpoolP256r1', 'dpauth') },
    AUTHENTICATE_ERROR.invalidSignature,
  ],
  [
    'a changed signature of the certificate',
    { answer: changed('initiateAuthentication', 'serverCertificate', flipped(-1)) },
    AUTHENTICATE_ERROR.invalidCertificate,
  ],
  [
    'a changed serverSignature1',
    { answer: changed('initiateAuthentication', 'serverSignature1', flipped(-1)) },
    AUTHENTICATE_ERROR.invalidSignature,
  ],
  [
    'a changed serverChallenge',
    { answer: changed('initiateAuthentication', 'serverSigned1', flipped(-1)) },
    AUTHENTICATE_ERROR.invalidSignature,
  ],
  [
    'a CI to sign under that it does not have',
    { answer: changed('initiateAuthentication', 'euiccCiPKIdToBeUsed', flipped(-1)) },
    AUTHENTICATE_ERROR.ciPkUnknown,
  ],
]
for (const [what, twists, code] of SERVER)
  refusals(`authenticates no server with ${what}`, async () => {
    const end = await ended(twists)
    assert.is(end.step, 'authenticate')
    assert.is(end.code, code)
  })

refusals('refuses a signature over another challenge', async () => {
  const end = await ended(
    {
      answer: (_name, answer) => answer,
    },
    replacedChallenge(),
  )
  assert.is(end.code, AUTHENTICATE_ERROR.euiccChallengeMismatch)
})

/** An eUICC whose LPA shows the server another challenge. */
function replacedChallenge(): Euicc {
  const euicc = newEuicc()
  const execute = (command: Uint8Array): Uint8Array => {
    const answer = euicc.execute(command)
    return command[1] === 0x2e ? tlv(0xbf2e, tlv(0x80, new Uint8Array(16))) : answer
  }
  return { ...euicc, execute }
}

const DOWNLOAD: readonly (readonly [string, Twists, number])[] = [
  [
    'a certificate of another role',
    { dppb: certificate('P-256', 'dpauth') },
    DOWNLOAD_ERROR.invalidCertificate,
  ],
  [
    'a certificate of another CI',
    { dppb: certificate('brainpoolP256r1', 'dppb') },
    DOWNLOAD_ERROR.invalidCertificate,
  ],
  [
    'a changed smdpSignature2',
    { answer: changed('authenticateClient', 'smdpSignature2', flipped(-1)) },
    DOWNLOAD_ERROR.invalidSignature,
  ],
  [
    'a changed flag for the confirmation code',
    { answer: changed('authenticateClient', 'smdpSigned2', flipped(-1)) },
    DOWNLOAD_ERROR.invalidSignature,
  ],
]
for (const [what, twists, code] of DOWNLOAD)
  refusals(`prepares no download for ${what}`, async () => {
    const end = await ended(twists, newEuicc(), { confirmationCode: '1' })
    assert.is(end.step, 'prepare')
    assert.is(end.code, code)
  })

const upp = fixture('perso-v7.der')
const patched = (offset: number, octets: string): Uint8Array => {
  const copy = Uint8Array.from(upp)
  copy.set(fromHex(octets), offset)
  return copy
}
const crt = (type: string, length: string, hostId: string) =>
  tlv(0xa6, tlv(0x80, fromHex(type)), tlv(0x81, fromHex(length)), tlv(0x84, fromHex(hostId)))
const { initialiseSecureChannel, configureIsdp, storeMetadata, loadProfileElements } = BPP_COMMAND
const PACKAGES: readonly (readonly [string, Twists, number, number])[] = [
  [
    'of another transaction',
    { bppTransaction: new Uint8Array(16) },
    initialiseSecureChannel,
    BPP_ERROR.invalidTransactionId,
  ],
  [
    'of another key type',
    { crt: crt('89', '10', '01') },
    initialiseSecureChannel,
    BPP_ERROR.unsupportedCrtValues,
  ],
  [
    'of another key length',
    { crt: crt('88', '20', '01') },
    initialiseSecureChannel,
    BPP_ERROR.unsupportedCrtValues,
  ],
  [
    'without a host id',
    { crt: crt('88', '10', '') },
    initialiseSecureChannel,
    BPP_ERROR.unsupportedCrtValues,
  ],
  [
    'of another operation',
    { operation: 2 },
    initialiseSecureChannel,
    BPP_ERROR.unsupportedRemoteOperationType,
  ],
  [
    'of another SM-DP+',
    { configure: tlv(0xbf24, tlv(0xb8, tlv(0x06, fromHex('88370B')))) },
    configureIsdp,
    BPP_ERROR.incorrectInputValues,
  ],
  [
    'with policy rules',
    { metadata: metadata(undefined, tlv(0x99, fromHex('0640'))) },
    storeMetadata,
    BPP_ERROR.pprNotAllowed,
  ],
  ['with segments of 1036 octets', { chunk: 1023 }, loadProfileElements, BPP_ERROR.scp03tStructureError],
  [
    'with another ICCID in its metadata',
    { metadata: metadata('8999901000000000021F') },
    loadProfileElements,
    BPP_ERROR.dataMismatch,
  ],
  [
    'with another ICCID in EF.ICCID',
    { profile: patched(252, '77') },
    loadProfileElements,
    BPP_ERROR.peProcessingError,
  ],
  ['without its end', { profile: upp.subarray(0, -9) }, loadProfileElements, BPP_ERROR.peProcessingError],
  [
    'that ends in the middle',
    { profile: upp.subarray(0, 5000) },
    loadProfileElements,
    BPP_ERROR.peProcessingError,
  ],
  [
    'that demands another algorithm than it has keys for',
    { profile: patched(62, '91') },
    loadProfileElements,
    BPP_ERROR.peProcessingError,
  ],
  [
    'of class test with real keys',
    { metadata: classTest() },
    loadProfileElements,
    BPP_ERROR.testProfileInvalidNaaKey,
  ],
]
function classTest(): Uint8Array {
  return tlv(
    0xbf25,
    tlv(0x5a, fromHex('989909010000000010F3')),
    tlv(0x91, Buffer.from('a')),
    tlv(0x92),
    tlv(0x95, fromHex('00')),
  )
}
for (const [what, twists, command, reason] of PACKAGES)
  refusals(`installs no package ${what}`, async () => {
    const { step, code, smdp, euicc } = await ended(twists)
    assert.is(step, 'install')
    assert.is(code, reason)
    assert.equal(euicc.profiles(), [])
    assert.is(smdp.notifications.length, 1, 'the result says why')
    const data = child(readOne(smdp.notifications[0] ?? new Uint8Array()), 0xbf27)
    const failed = child(child(data!, 0xa2)!, 0xa1)
    assert.equal([...(child(failed!, 0x80)?.value ?? [])], [command])
    assert.equal([...(child(failed!, 0x81)?.value ?? [])], [reason])
  })

refusals('refuses a package with one changed octet anywhere', async () => {
  for (const at of [30, 100, 200, 240, 400, 2000, -1]) {
    const end = await ended({ answer: changed('getBoundProfilePackage', 'boundProfilePackage', flipped(at)) })
    assert.is(end.step, 'install', `octet ${at}`)
    assert.equal(end.euicc.profiles(), [])
  }
})

refusals('refuses an ICCID that is installed, and a profile for which there is no room', async () => {
  const euicc = newEuicc(1)
  await downloadProfile({ euicc, activationCode: CODE, transport: smallSmdp().transport })
  assert.is((await ended({}, euicc)).code, BPP_ERROR.iccidAlreadyExists)
  assert.is(
    (await ended({ metadata: metadata('8999901000000000021F') }, euicc)).code,
    BPP_ERROR.insufficientMemory,
  )
  assert.is(euicc.profiles().length, 1)
})

refusals('prepares no download without the hash of a confirmation code that is required', async () => {
  const end = await ended({ confirmation: true })
  assert.is(end.step, 'confirm')
  assert.equal(end.smdp.cancelled, [CANCEL_REASON.postponed], 'the code can be used again')
  const early = await ended({}, newEuicc(), { activationCode: `${CODE}$$1` })
  assert.equal([early.step, early.smdp.transactionIds], ['code', []], 'the activation code says so already')
})

refusals('cancels with the reason that the user gave', async () => {
  for (const reason of Object.values(CANCEL_REASON)) {
    const end = await ended({}, newEuicc(), { consent: () => reason })
    assert.equal(end.smdp.cancelled, [reason])
  }
})

refusals('cancels a session whose server breaks off', async () => {
  const smdp = smallSmdp({ answer: (name, answer) => (name === 'getBoundProfilePackage' ? {} : answer) })
  const download = downloadProfile({ euicc: newEuicc(), activationCode: CODE, transport: smdp.transport })
  assert.instance(await download.catch((error: unknown) => error), Es9Error)
  assert.equal(smdp.cancelled, [CANCEL_REASON.endUserRejection])
})

refusals('offers its unused one-time key again when the server asks for it, and no other', async () => {
  const euicc = newEuicc()
  const lost = smallSmdp({
    answer: (name, answer) => (name === 'getBoundProfilePackage' ? { boundProfilePackage: '' } : answer),
  })
  const broken = downloadProfile({ euicc, activationCode: CODE, transport: lost.transport })
  assert.instance(await broken.catch((error: unknown) => error), Error)
  const [unused = new Uint8Array()] = lost.otpks
  const again = smallSmdp({ offered: unused })
  await downloadProfile({ euicc, activationCode: CODE, transport: again.transport })
  assert.equal(again.otpks, [unused])
  const stranger = smallSmdp({ offered: unused, metadata: metadata('8999901000000000021F') })
  await downloadProfile({ euicc, activationCode: CODE, transport: stranger.transport }).catch(() => undefined)
  assert.not.equal(stranger.otpks, [unused], 'a key is used for one profile')
})

refusals.run()
