import { parseImsi } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import { refusalsIn, refusedRadioIn } from '../../src/diagnose/refusals.ts'

const refusals = suite('driver-core-a/refusals')

const IMSI = parseImsi('999707364000060')!
/** As the daemons of v2.8.0 write; the texts are those of src/mme and src/amf. */
const log = (...lines: readonly string[]): string =>
  lines.map((line, i) => `11/20 12:19:${String(i).padStart(2, '0')}.366: ${line}`).join('\n')
const told = (text: string): readonly (readonly [string, boolean])[] =>
  refusalsIn([text], IMSI).map(({ refusal, isCertain }) => [refusal, isCertain])

refusals('reads an IMSI that the HSS does not know', () => {
  const text = log(
    '[mme] INFO: [999707364000060] Attach request (../src/mme/emm-sm.c:488)',
    '[mme] WARNING: Authentication Information failed [5001] (../src/mme/mme-s6a-handler.c:84)',
    '[mme] INFO: [999707364000060] Attach reject [OGS_NAS_EMM_CAUSE:8] (../src/mme/mme-sm.c:607)',
  )
  assert.equal(refusalsIn([text], IMSI), [
    {
      refusal: 'unknown_subscriber',
      detail: 'the HSS did not know it, or did not answer (cause 8)',
      at: '11/20 12:19:02',
      isCertain: true,
    },
  ])
})

refusals('reads a card with other keys, in both generations and with colours', () => {
  const lte = log(
    '[mme] INFO: [999707364000060] Attach request',
    '[mme] WARNING: Authentication failure',
    '[mme] WARNING:     IMSI[999707364000060] OGS_NAS_EMM_CAUSE[20]',
    '[mme] WARNING: Authentication failure(MAC failure)',
  )
  assert.equal(told(lte), [['wrong_keys', true]])
  const coloured =
    '\u001b[32m11/20 12:19:24.366\u001b[0m: [\u001b[33mmme\u001b[0m] \u001b[1;33mWARNING\u001b[0m: '
  assert.equal(told(`${coloured}    IMSI[999707364000060] OGS_NAS_EMM_CAUSE[20]`), [['wrong_keys', true]])
  const nr = log('[gmm] WARNING: [suci-0-999-70-0-0-0-7364000060] Authentication failure [20]')
  assert.equal(told(nr), [['wrong_keys', true]])
})

refusals('knows whom a wrong answer was of by the line behind it', () => {
  const text = [
    '11/28 10:17:51.063: [emm] INFO: [999707364000060] Attach request (../src/src/mme/emm-sm.c:488)',
    '11/28 10:17:51.073: [emm] ERROR: emm_handle_authentication_response() failed (../src/src/mme/emm-sm.c:1123)',
    '11/28 10:17:51.073: [emm] WARNING: [999707364000060] Failure in transaction; restoring context and transitioning to REGISTERED. (../src/src/mme/emm-sm.c:1127)',
  ].join('\n')
  assert.equal(told(text), [['wrong_keys', true]])
})

refusals('takes lines without a name for the phone that was named last, and says so', () => {
  const apn = log(
    '[mme] INFO: [999707364000060] Attach request',
    '[mme] WARNING: Invalid APN[corporate] (../src/mme/esm-handler.c:171)',
  )
  assert.equal(told(apn), [['wrong_apn', false]])
  const area = log(
    '[mme] INFO: [999707364000060] Attach request',
    '[mme] WARNING: Cannot find Served TAI[PLMN_ID:99f907,TAC:9]',
  )
  assert.equal(told(area), [['wrong_area', false]])
  const others = log(
    '[mme] INFO: [999707364000060] Attach request',
    '[mme] INFO: [999707364000061] Attach request',
    '[mme] WARNING: Invalid APN[corporate]',
  )
  assert.equal(told(others), [])
})

refusals('forgets what was before a success, and gives the newest first', () => {
  const reject = '[mme] INFO: [999707364000060] Attach reject [OGS_NAS_EMM_CAUSE:8]'
  const good = '[mme] INFO: [999707364000060] Attach complete'
  const synch = '[mme] WARNING:     IMSI[999707364000060] OGS_NAS_EMM_CAUSE[21]'
  assert.equal(told(log(reject, good)), [])
  assert.equal(told(log(reject, good, synch, reject)), [
    ['unknown_subscriber', true],
    ['out_of_step', true],
  ])
  assert.is(refusalsIn([log(...Array.from({ length: 40 }, () => reject))], IMSI).length, 5)
})

refusals('never tells an identifier, and bears what is no line of a log', () => {
  const text = log('[mme] INFO: [999707364000060] Attach reject [OGS_NAS_EMM_CAUSE:77]', 'garbage', '')
  const found = refusalsIn([`\u0000\n{}\n${text}`], IMSI)
  assert.is(found[0]?.refusal, 'other')
  assert.not.match(JSON.stringify(found), /7364000060/)
})

/** What daemons of v2.8.0 wrote on this project's own runs: one phone each. */
const MME_WRONG_RES = `11/21 21:27:49.899: [emm] INFO: [] Attach request (../src/mme/emm-sm.c:488)
11/21 21:27:49.899: [emm] INFO:     IMSI[999707364000060] (../src/mme/emm-handler.c:245)
0000: a33c6a4c 7c19bd0f                     .<jL|...
11/21 21:27:49.906: [emm] ERROR: emm_handle_authentication_response() failed (../src/mme/emm-sm.c:1123)
11/21 21:27:49.906: [emm] WARNING: [999707364000060] Failure in transaction; no context restoration. (../src/mme/emm-sm.c:1127)`
const AMF_WRONG_RES = `11/21 21:29:59.634: [gmm] INFO: [suci-0-999-70-0-0-0-7364000060]    SUCI (../src/amf/gmm-handler.c:1065)
11/21 21:29:59.659: [gmm] ERROR: [suci-0-999-70-0-0-0-7364000060] MAC failure (../src/amf/gmm-handler.c:981)
11/21 21:29:59.659: [gmm] ERROR: gmm_handle_authentication_response() failed (../src/amf/gmm-sm.c:2137)
11/21 21:29:59.659: [amf] WARNING: [suci-0-999-70-0-0-0-7364000060] Authentication reject (../src/amf/nas-path.c:531)`
const AMF_UNKNOWN = `11/21 21:30:10.905: [gmm] WARNING: [suci-0-999-70-0-0-0-7364000060] Cannot find SUCI [404] (../src/amf/gmm-sm.c:2299)
11/21 21:30:10.905: [amf] WARNING: [suci-0-999-70-0-0-0-7364000060] Registration reject [7] (../src/amf/nas-path.c:213)`
const AMF_BLOCKED = `11/21 21:30:34.894: [amf] ERROR: [imsi-999707364000060] No Slice in Subscription DB (../src/amf/context.c:2967)
11/21 21:30:34.894: [amf] ERROR: No Allowed-NSSAI (../src/amf/nudm-handler.c:145)
11/21 21:30:34.894: [amf] WARNING: [suci-0-999-70-0-0-0-7364000060] Registration reject [62] (../src/amf/nas-path.c:213)`
const AMF_WRONG_DNN = `11/21 21:31:48.069: [gmm] INFO: [imsi-999707364000060] Registration complete (../src/amf/gmm-sm.c:3165)
11/21 21:31:48.069: [gmm] WARNING: [imsi-999707364000060] Ue requested DNN "corporate" Not Supported OR Not Subscribed in the Slice (../src/amf/gmm-handler.c:1406)`
const AMF_SESSION =
  '11/21 21:32:00.750: [amf] INFO: [imsi-999707364000060:5:11][0:0:NULL] /nsmf-pdusession/v1/sm-contexts/{smContextRef}/modify (../src/amf/nsmf-handler.c:954)'

refusals('reads what real daemons wrote of each kind of refusal, one attempt each', () => {
  assert.equal(told(MME_WRONG_RES), [['wrong_keys', false]])
  assert.equal(told(AMF_WRONG_RES), [['wrong_keys', true]])
  assert.equal(told(AMF_UNKNOWN), [['unknown_subscriber', true]])
  assert.equal(told(AMF_BLOCKED), [['not_allowed', true]])
  assert.equal(told(AMF_WRONG_DNN), [['wrong_apn', true]])
  assert.equal(told(`${AMF_WRONG_DNN}\n${AMF_SESSION}`), [])
})

refusals('takes the logs of both generations in the order of their time', () => {
  const both = (...logs: readonly string[]) => refusalsIn(logs, IMSI).map(({ refusal }) => refusal)
  assert.equal(both(MME_WRONG_RES, AMF_UNKNOWN), ['unknown_subscriber', 'wrong_keys'])
  assert.equal(both(AMF_UNKNOWN, MME_WRONG_RES), ['unknown_subscriber', 'wrong_keys'])
  assert.equal(both(MME_WRONG_RES, AMF_SESSION), [])
})

/** As src/amf of v2.8.0 writes it, where its access control or its tracking areas leave a phone out before it has a name. */
const AMF_UNNAMED = (
  line: string,
): string => `11/21 21:29:50.100: [amf] INFO: InitialUEMessage (../src/amf/ngap-handler.c:894)
11/21 21:29:50.100: [gmm] INFO: Registration request (../src/amf/gmm-sm.c:1706)
${line}`
const AMF_WRONG_TAC = AMF_UNNAMED(
  '11/21 21:29:50.101: [amf] ERROR: Cannot find Served TAI[PLMN_ID:99f907,TAC:9] (../src/amf/ngap-handler.c:1038)',
)
const AMF_WRONG_PLMN = AMF_UNNAMED(
  `11/21 21:29:50.101: [gmm] ERROR: Rejected by PLMN-ID access control (../src/amf/gmm-handler.c:181)
11/21 21:29:50.101: [gmm] ERROR: gmm_handle_registration_request() failed [11] (../src/amf/gmm-sm.c:1731)
11/21 21:29:50.101: [amf] WARNING: [(null)] Registration reject [11] (../src/amf/nas-path.c:213)`,
)
const AMF_OTHER = '11/21 21:29:49.000: [gmm] INFO: [suci-0-999-70-0-0-0-7364000061]    SUCI'

refusals('tells of one whom the AMF refused without a name, as not certain, whoever came before', () => {
  for (const before of [AMF_OTHER, AMF_BLOCKED.replaceAll('7364000060', '7364000061'), '']) {
    assert.equal(told(`${before}\n${AMF_WRONG_TAC}`), [['wrong_area', false]])
    assert.equal(told(`${before}\n${AMF_WRONG_PLMN}`), [['wrong_network', false]])
  }
  // What comes of a phone that is under way meanwhile is not the newcomer's.
  const meanwhile =
    '11/21 21:29:50.102: [gmm] ERROR: gmm_handle_authentication_response() failed (../src/amf/gmm-sm.c:2137)'
  assert.equal(told(`${AMF_OTHER}\n${AMF_UNNAMED(meanwhile)}`), [])
  // It has got on since.
  assert.equal(told(`${AMF_WRONG_TAC}\n${AMF_SESSION}`), [])
})

refusals('says why the core took no base station, until one serves a phone', () => {
  const refused = `11/21 21:29:04.432: [mme] WARNING: S1-Setup failure: (../src/mme/s1ap-handler.c:286)
11/21 21:29:04.432: [mme] WARNING:     Cannot find Served TAI. Check 'mme.tai' configuration (../src/mme/s1ap-handler.c:287)`
  assert.match(refusedRadioIn(refused) ?? '', /tracking area or network/)
  assert.is(
    refusedRadioIn(
      `${refused}\n11/21 21:29:14.432: [mme] INFO: InitialUEMessage (../src/mme/s1ap-handler.c:493)`,
    ),
    undefined,
  )
  assert.is(refusedRadioIn('nothing of the kind'), undefined)
})

refusals.run()
