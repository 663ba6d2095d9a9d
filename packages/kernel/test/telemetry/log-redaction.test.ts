import { randomBytes } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import { redactFacts, scrubText } from '../../src/telemetry/log-redaction.ts'

const test = suite('what a log line does not show')

const IMSI = '001010123456789'
const KEY = '465b5ce8b199b49faa5f0a2ee238a6bc'
const WIREGUARD = `AbCdEf${'x'.repeat(37)}=`
const LONG = randomBytes(32).toString('base64url')

/** Texts in which the secret stands as programs and people write it. */
const SHOWN: Readonly<Record<string, readonly [secret: string, texts: readonly string[]]>> = {
  'an IMSI': [
    IMSI,
    [
      `no subscriber ${IMSI}.`,
      `imsi${IMSI}`,
      `IMSI_${IMSI} is unknown`,
      `${IMSI}, twice ${IMSI}`,
      `0${IMSI}@nai.epc.mnc001.mcc001.3gppnetwork.org`,
    ],
  ],
  'a key': [KEY, [`k=${KEY}`, `0x${KEY}.`, KEY.toUpperCase()]],
  'a key in groups': ['465B5CE8', ['K 465B5CE8 B199B49F AA5F0A2E E238A6BC']],
  'a key in octets': ['46 5b', ['<Buffer 46 5b 5c e8 b1 99 b4 9f aa 5f 0a 2e e2 38 a6 bc>']],
  'a token': [
    LONG,
    [`svc_${LONG}`, `svci_${LONG}`, `svcl_${LONG}`, `svcb_${KEY}_${LONG}`, `at /accept#svci_${LONG}`],
  ],
  'a refresh token': [LONG.slice(4, 40), [`svcr_${LONG}${'x'.repeat(27)}`]],
  'a secret of webhooks': [LONG.slice(0, 32), [`whsec_${LONG.slice(0, 32).replaceAll(/[-_]/g, '+')}`]],
  'a key of WireGuard': ['AbCdEf', [`Key is not the correct length or format: \`${WIREGUARD}\``]],
  'a password in a URL': [
    'pa',
    [
      'no answer of mongodb://svc:pa@h/x',
      'no answer of mongodb://svc:pa/ss@h/x',
      "mongodb://svc:pa'ss@h/x",
      'postgres://svc:pa?ss#x@h/x',
      'http://svc:pa/ss@h/x',
    ],
  ],
}

for (const [name, [secret, texts]] of Object.entries(SHOWN))
  test(`${name} is hidden wherever it stands`, () => {
    for (const text of texts) {
      const clean = scrubText(text).toLowerCase()
      assert.not(clean.replaceAll('+', '-').includes(secret.toLowerCase()), `${text}: ${clean}`)
    }
  })

test('a name of a fact shows no more than its value does', () => {
  const clean = JSON.stringify(redactFacts({ [IMSI]: 1, more: { [KEY]: true }, [`svc_${LONG}`]: 'x' }))
  for (const secret of [IMSI, KEY, LONG]) assert.not(clean.includes(secret), clean)
})

test('what is none of them stays', () => {
  const uuid = '2307ae6a-640b-4141-b60f-28892794101c'
  const texts = [
    'took 0.123456789012345 s',
    `request ${uuid}`,
    'svc_http_request_duration_seconds_bucket',
    'at 1790000000000',
    'http://127.0.0.1:9090/ue-info and ann@example.org',
    'https://example.org/@steeple/x',
    'http://127.0.0.1:9090/@steeple/x',
    'AA:BB:CC:DD:EE:FF',
  ]
  for (const text of texts) assert.is(scrubText(text), text)
  const digest = Array.from({ length: 32 }, () => 'AB').join(':')
  assert.is(scrubText(digest), digest)
})

test('a long text takes the time of its length', () => {
  const pieces = ['://', 'a:', '46 ', '465b5ce8 ', '1', 'svc_', '@', '://a/', 'whsec_', '=', ' ', 'a=']
  for (const piece of pieces) {
    const begunMs = performance.now()
    scrubText(piece.repeat(50_000))
    assert.ok(performance.now() - begunMs < 10_000, piece)
  }
})

test.run()
