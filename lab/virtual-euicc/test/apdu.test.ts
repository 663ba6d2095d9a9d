import { child, readOne } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { createEuicc, type Euicc } from '../src/euicc.ts'
import { downloadProfile } from '../src/lpa.ts'
import { type Card, ISD_R, lpacBridge, makeCard } from '../src/lpac-bridge.ts'
import { fromHex } from '../src/octets.ts'
import { chain, EID, fixture } from './support/pki.ts'
import { metadataFor, smallSmdp } from './support/small-smdp.ts'

const apdu = suite('virtual-euicc/apdu')

/** What lpac sent and an eUICC of another make answered, one command a line. */
interface Recorded {
  readonly phase: string
  readonly c: string
  readonly r: string
}
const recorded = Buffer.from(fixture('lpac-apdu.ndjson'))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)
const of = (phase: string) => recorded.filter((one) => one.phase === phase)
const CHALLENGE = fromHex('c4e8c2d349e8a51e5da39f7f63f8b83c')
const ADDRESS = 'testsmdpplus1.example.com'
const hex = (octets: Uint8Array) => Buffer.from(octets).toString('hex')

function newEuicc(): Euicc {
  return createEuicc({ eid: EID, chains: [chain('P-256')], random: () => CHALLENGE })
}

/** A card whose answers come whole, as lpac's driver had them, with the recording's channel open. */
function cardOf(euicc: Euicc): Card {
  const card = makeCard(euicc, { responseMax: 65_536 })
  assert.is(card.open(ISD_R), 1)
  return card
}

apdu('answers what lpac asked of a chip as another eUICC did', () => {
  const card = cardOf(newEuicc())
  for (const { c, r } of of('chip-info')) {
    const answer = hex(card.transmit(fromHex(c)))
    if (c.includes('bf2200')) assert.match(answer, /^bf22.*9000$/)
    else assert.is(answer, r)
  }
})

apdu('takes the recorded server’s authentication, and nothing that was signed for another answer', () => {
  const card = cardOf(newEuicc())
  const answers = of('download').map(({ c }) => hex(card.transmit(fromHex(c))))
  assert.is(answers[0], of('download')[0]?.r, 'the challenge')
  assert.is(answers[1], of('download')[1]?.r, 'EUICCInfo1')
  assert.equal(answers.slice(2, 5), ['9000', '9000', '9000'])
  const authenticated = readOne(fromHex(answers[5]?.slice(0, -4) ?? ''))
  assert.is(authenticated.tag, 0xbf38)
  assert.is(child(authenticated, 0xa0)?.children().length, 4)
  const prepared = readOne(fromHex(answers[8]?.slice(0, -4) ?? ''))
  const failed = child(prepared, 0xa1)
  assert.equal(
    failed && [...(child(failed, 0x02)?.value ?? [])],
    [2],
    'smdpSignature2 covers euiccSignature1',
  )
  assert.is(answers[9], '6985')
})

apdu('lists, enables, disables, deletes and notifies as it was recorded', async () => {
  const euicc = newEuicc()
  const profile = Uint8Array.from(fixture('perso-v7.der'))
  profile.set(fromHex('89000123456789012341'), 44)
  profile.set(fromHex('98001032547698103214'), 250)
  const smdp = smallSmdp({
    profile,
    address: ADDRESS,
    metadata: metadataFor(ADDRESS, '0470', '89000123456789012341'),
  })
  const activationCode = `LPA:1$${ADDRESS}$A-1`
  await downloadProfile({ euicc, activationCode, transport: smdp.transport, notify: false })
  const card = cardOf(euicc)
  assert.match(
    hex(card.transmit(fromHex(of('list')[0]?.c ?? ''))),
    /^bf2d.*5a0a98001032547698103214.*9f700100.*9000$/,
  )
  for (const phase of ['enable', 'disable', 'delete'])
    for (const { c, r } of of(phase)) assert.is(hex(card.transmit(fromHex(c))), r, phase)
  for (const { c, r } of of('notif-process')) {
    const answer = hex(card.transmit(fromHex(c)))
    const kind = c.slice(10, 14)
    if (kind === 'bf2b') assert.is(answer.slice(0, 4), r.slice(0, 4))
    else assert.is(answer, r)
  }
})

apdu('gives long answers in parts of 256 octets', async () => {
  const card = makeCard(newEuicc())
  assert.is(hex(card.transmit(fromHex('0070000001'))), '019000')
  assert.is(hex(card.transmit(Buffer.concat([fromHex('01a4040010'), ISD_R]))), '9000')
  card.transmit(fromHex('81e2910003bf2e00'))
  const blocks = of('download').slice(2, 6)
  const answers = blocks.map(({ c }) => card.transmit(fromHex(c)))
  let answer = answers.at(-1) ?? new Uint8Array()
  const whole: number[] = []
  for (; answer.at(-2) === 0x61; answer = card.transmit(fromHex('81c0000000'))) {
    assert.is(answer.length, 258)
    whole.push(...answer.subarray(0, -2))
  }
  whole.push(...answer.subarray(0, -2))
  assert.is(readOne(Uint8Array.from(whole)).tag, 0xbf38)
  assert.is(hex(card.transmit(fromHex('0070800100'))), '9000')
  assert.is(hex(card.transmit(fromHex('81e2910003bf2e00'))), '6881')
})

apdu('refuses with a status word', () => {
  const card = cardOf(newEuicc())
  for (const [command, status] of [
    ['', '6700'],
    ['81e29100', '6a80'],
    ['81e2910004bf2e00', '6700'],
    ['80e2910003bf2e00', '6985'],
    ['82e2910003bf2e00', '6881'],
    ['81e2910103bf2e00', '6a86'],
    ['81e2000003bf2e00', '6a86'],
    ['81e2910003bf5500', '6a88'],
    ['81e2910003bf2e01', '6a80'],
    ['81e2910003bf3300', '6a80'],
    ['81b0000000', '6d00'],
    ['01a404000100', '6a82'],
    ['e1e2910003bf2e00', '6e00'],
  ] as const)
    assert.match(hex(card.transmit(fromHex(command))), new RegExp(`${status}$`), command)
})

apdu('answers any octets with a status word', () => {
  const card = cardOf(newEuicc())
  void fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.boolean(), (octets, isData) => {
      const command = isData ? Uint8Array.of(0x81, 0xe2, 0x91, 0, octets.length, ...octets) : octets
      assert.ok(card.transmit(command).length >= 2)
    }),
    { numRuns: 2000 },
  )
})

apdu('speaks lpac’s lines', async () => {
  const bridge = lpacBridge(newEuicc(), async () => ({ status: 204, body: new Uint8Array() }))
  const said = async (type: string, payload: object) => bridge(JSON.stringify({ type, payload }))
  const reply = async (payload: object) => {
    const answer = await said('apdu', payload)
    return 'reply' in answer ? (JSON.parse(answer.reply) as { payload: unknown }).payload : answer
  }
  assert.equal(await reply({ func: 'connect', param: null }), { ecode: 0 })
  assert.equal(await reply({ func: 'logic_channel_open', param: hex(ISD_R) }), { ecode: 1 })
  assert.equal(await reply({ func: 'transmit', param: '81e2910003bf4300' }), {
    ecode: 0,
    data: 'bf4302a0009000',
  })
  assert.equal(await reply({ func: 'logic_channel_close', param: '01' }), { ecode: 0 })
  assert.equal(await said('http', { url: 'https://x.test/', tx: '00', headers: ['a: b'] }), {
    reply: '{"type":"http","payload":{"rcode":204,"rx":""}}',
  })
  assert.equal(await said('lpa', { code: 0, message: 'success', data: null }), {
    result: { code: 0, message: 'success', data: null },
  })
  assert.equal(await bridge('no json'), { other: 'no json' })
})

apdu.run()
