import { parseImsi } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import { refusalsIn, refusedRadioIn, registrationTeller } from '../../src/diagnose/diagnose.ts'

const refusals = suite('driver-core-b/refusals')

const IMSI = parseImsi('999050000000070')!
const OTHER = parseImsi('999050000000071')!
const told = (log: string, imsi = IMSI): readonly (readonly [string, boolean])[] =>
  refusalsIn(log, imsi).attempts.map(({ refusal, isCertain }) => [refusal, isCertain])

/** What the AMF of 4.2.3 wrote of a phone in this project's own runs, with AUSF, UDM, UDR, PCF, SMF and NSSF. */
const begun = (number: number, msin = '0000000070', at = '05:22:51'): string =>
  `2026-11-23T${at}.004431017Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:${number}(3GPP)][supi:SUPI:] Handle Registration Request
2026-11-23T${at}.004438268Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:${number}(3GPP)][supi:SUPI:] MobileIdentity5GS: SUCI[suci-0-999-05-0-0-0-${msin}]`
const WRONG_AREA = `${begun(1)}
2026-11-23T05:22:51.004447301Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:1(3GPP)][supi:SUPI:] Send Registration Reject
2026-11-23T05:22:51.005758685Z [ERRO][AMF][Gmm] registration reject[tracking area not allowed]`
const UNKNOWN = `${begun(2, '0000000071')}
2026-11-23T05:22:59.232371506Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:2(3GPP)][supi:SUPI:] Nausf_UEAU Authenticate Request Error: 404, Not Found
2026-11-23T05:22:59.232436082Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:2(3GPP)][supi:SUPI:] Send Registration Reject
2026-11-23T05:22:59.232604173Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:2(3GPP)][supi:SUPI:] Authentication procedure failed
2026-11-23T05:22:59.232686225Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:2(3GPP)][supi:SUPI:] Handle Authentication Error
2026-11-23T05:22:59.232700005Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:2(3GPP)][supi:SUPI:] Send Registration Reject`
const COLOURED = `2026-11-23T05:23:07.467425770Z\u001b[31m [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:3(3GPP)][supi:SUPI:] \u001b[0mHRES* Validation Failure (received: bb7d95e6497713e2d9db376cd0a02d36, expected: 984346fefe03d0c39e182a1c8d100eb3)`
const WRONG_ANSWER = `${begun(3)}
${COLOURED}
2026-11-23T05:23:07.467439861Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:3(3GPP)][supi:SUPI:] Send Authentication Reject
2026-11-23T05:23:07.467523055Z [WARN][AMF][Gmm] Reject authentication`
const WRONG_CODE = `${begun(4)}
2026-11-23T05:23:07.713397343Z [WARN][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:4(3GPP)][supi:SUPI:] Authentication Failure Cause: Mac Failure
2026-11-23T05:23:07.713402161Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:4(3GPP)][supi:SUPI:] Send Authentication Reject`
const OUT_OF_STEP = `${begun(5)}
2026-11-23T05:23:07.976007838Z [WARN][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:5(3GPP)][supi:SUPI:] Authentication Failure 5GMM Cause: Synch Failure
2026-11-23T05:23:07.989501583Z [ERRO][AMF][Gmm] 403, Forbidden`
const REGISTERED = `${begun(8)}
2026-11-23T05:23:57.630427352Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-999050000000070] Handle Registration Complete`
const WRONG_DNN = `${REGISTERED}
2026-11-23T05:23:57.936657508Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-999050000000070] Select SMF failed: DNN[corporate] is not supported or not subscribed in the slice[Snssai: {Sst:1 Sd:010203}]`
const BLOCKED = `${REGISTERED}
2026-11-23T05:24:50.103591801Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-999050000000070] CreateSmContextRequest Error: 403, Forbidden`
const WRONG_SLICE = `${begun(11)}
2026-11-23T05:24:40.373774943Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:11(3GPP)][supi:SUPI:imsi-999050000000070] NSSelection Get Error[openapi error]
2026-11-23T05:24:40.373850085Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:11(3GPP)][supi:SUPI:imsi-999050000000070] Send Registration Reject`
const NO_ACCESS_DATA = `${begun(13)}
2026-11-23T05:24:59.001134022Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:13(3GPP)][supi:SUPI:imsi-999050000000070] SDM_Get Slice Selection Subscription Data Failed Problem[&{Type: Title:Data not found Status:404 Detail: Instance: Cause:DATA_NOT_FOUND}]`
const SESSION =
  '2026-11-23T05:25:00.000000000Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:8(3GPP)][supi:SUPI:imsi-999050000000070] create smContext[pduSessionID: 1] Success'

refusals('reads what a real AMF wrote of each kind of refusal, one attempt each', () => {
  assert.equal(told(WRONG_AREA), [['wrong_area', false]])
  assert.equal(told(UNKNOWN, OTHER), [['unknown_subscriber', true]])
  assert.equal(told(WRONG_ANSWER), [['wrong_keys', true]])
  assert.equal(told(WRONG_CODE), [['wrong_keys', true]])
  assert.equal(told(OUT_OF_STEP), [['out_of_step', true]])
  assert.equal(told(WRONG_DNN), [['wrong_apn', true]])
  assert.equal(told(BLOCKED), [['not_allowed', true]])
  assert.equal(told(WRONG_SLICE), [['not_allowed', true]])
  assert.equal(told(NO_ACCESS_DATA), [['wrong_network', true]])
  assert.equal(refusalsIn(WRONG_ANSWER, IMSI).attempts[0]?.at, '2026-11-23T05:22:51')
})

refusals('tells a rejection without a reason as such', () => {
  const bare = `${begun(9)}
2026-11-23T05:22:51.004447301Z [INFO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:9(3GPP)][supi:SUPI:] Send Registration Reject`
  assert.equal(told(bare), [['other', true]])
})

refusals('gives nobody the attempt of another, nor of a number from before a start of the AMF', () => {
  assert.equal(told(UNKNOWN), [])
  assert.is(refusalsIn(UNKNOWN, IMSI).isNamed, false)
  const start = '2026-11-23T05:30:00.000000000Z [INFO][AMF][Main] AMF version: '
  const concealed = WRONG_CODE.split('\n')[2]
  assert.equal(told(`${begun(4)}\n${start}\n${concealed}`), [])
  assert.equal(told(`${WRONG_CODE}\n${UNKNOWN}`, OTHER), [['unknown_subscriber', true]])
})

refusals('forgets what was before a success, and gives the newest first', () => {
  assert.equal(told(`${WRONG_CODE}\n${REGISTERED}`), [])
  assert.equal(told(`${BLOCKED}\n${SESSION}`), [])
  assert.equal(told(`${WRONG_CODE}\n${WRONG_AREA}`), [
    ['wrong_area', false],
    ['wrong_keys', true],
  ])
  assert.is(told(Array.from({ length: 40 }, () => WRONG_CODE).join('\n')).length, 5)
  assert.is(refusalsIn(REGISTERED, IMSI).isNamed, true)
})

refusals('never tells an identifier, and bears what is no line of a log', () => {
  const found = refusalsIn(`\u0000\n{}\ngarbage\n${NO_ACCESS_DATA}\n`, IMSI)
  assert.is(found.attempts.length, 1)
  assert.not.match(JSON.stringify(found), /0000000070/)
})

refusals('says why the AMF took no gNB, until it takes one', () => {
  const refused =
    '2026-11-23T05:24:23.445434316Z [WARN][AMF][Ngap][ran_addr:127.0.0.1:45180] NG-Setup failure: Cannot find Served TAI in AMF'
  assert.match(refusedRadioIn(refused) ?? '', /tracking area or network/)
  const taken =
    '2026-11-23T05:24:32.815356565Z [INFO][AMF][Ngap][ran_addr:127.0.0.1:56542] Send NG-Setup response'
  assert.is(refusedRadioIn(`${refused}\n${taken}`), undefined)
  assert.is(refusedRadioIn('nothing of the kind'), undefined)
})

/** What the AMF is heard to say of phones, each by its last digits. */
const heard = (lines: string, tell = registrationTeller()): readonly (readonly [string, string])[] =>
  tell(lines.split('\n')).map(({ who, meaning }) => [
    who.slice(-2),
    meaning === 'success' ? meaning : (meaning.detail ?? 'no reason'),
  ])

refusals('hears of whichever phone is refused or registered, and of no session', () => {
  assert.equal(heard(UNKNOWN), [
    ['71', 'the UDM does not know it'],
    ['71', 'no reason'],
    ['71', 'no reason'],
  ])
  assert.equal(heard(WRONG_CODE), [
    ['70', 'its card has other keys than the UDM (cause 20)'],
    ['70', 'no reason'],
  ])
  assert.match(heard(WRONG_AREA).at(-1)?.[1] ?? '', /tracking area/)
  assert.equal(heard(REGISTERED), [['70', 'success']])
  assert.equal(heard(`${BLOCKED}\n${WRONG_DNN}\n${SESSION}`), [
    ['70', 'success'],
    ['70', 'success'],
  ])
})

refusals('knows a phone by its number over two looks, and not over a start of the AMF', () => {
  const [request = '', suci = '', ...rest] = WRONG_CODE.split('\n')
  const tell = registrationTeller()
  assert.equal(heard(`${request}\n${suci}`, tell), [])
  assert.is(heard(rest.join('\n'), tell).length, 2)
  const start = '2026-11-23T05:30:00.000000000Z [INFO][AMF][Main] AMF version: '
  assert.equal(heard(`${start}\n${rest.join('\n')}`, tell), [])
})

refusals.run()
