import { readOne } from '@steeple/sgp22'
import { assert, rounds, suite } from '@steeple/testkit'
import { CODES, HELD, NOTICES, SESSIONS } from '../src/store/rows.ts'
import { authenticated, base64, type Fields, good, handset, octetsIn } from './support/handset.ts'
import { installNotice } from './support/install-notice.ts'
import { ADDRESS, type World, world } from './support/world.ts'

/** A request of which an eUICC has signed something, and how a bit of each of its parts is refused. */
interface Subject {
  readonly name: string
  readonly body: Fields
  readonly member: string
  /** Parts, from an offset on, with the codes that fit. */
  readonly parts: readonly {
    readonly part: string
    readonly from: number
    readonly codes: readonly string[]
  }[]
}
const SIGNED = ['8.1/6.1']
const EUICC = ['8.1.3/6.1', '8.1/6.1']
// Its authority key identifier names the CI.
const EUM = ['8.1.2/6.1', '8.11.1/3.9', '8.1/6.1']

/**
 * Flips one bit of everything that is signed, every `stride`th from `offset` on, one request each. Throws when one of them is
 * not refused with its code, or when anything at all changes in the store by one.
 */
async function flipBits(stride: number, offset: number): Promise<number> {
  let flips = 0
  const all = await world()
  try {
    for (const subject of await subjects(all)) {
      const before = await stateOf(all)
      flips += await flipEach(all, subject, stride, offset)
      if ((await stateOf(all)) !== before)
        throw new Error(`${subject.name}: a changed bit has changed the store`)
      const whole = await all.call(subject.name, subject.body)
      if (whole.code !== 'ok' && whole.status !== 204) throw new Error(`${subject.name} is no good as it is`)
      if ((await stateOf(all)) === before) throw new Error(`${subject.name} as it is changes nothing`)
    }
  } finally {
    await all.close()
  }
  return flips
}

async function flipEach(
  all: World,
  { name, body, member, parts }: Subject,
  stride: number,
  offset: number,
): Promise<number> {
  const octets = octetsIn(body, member)
  let flips = 0
  for (let bit = offset; bit < octets.length * 8; bit += stride) {
    const at = Math.floor(bit / 8)
    const changed = Uint8Array.from(octets)
    changed[at] = (changed[at] ?? 0) ^ (1 << (bit % 8))
    const { code } = await all.call(name, { ...body, [member]: base64(changed) })
    const part = parts.findLast(({ from }) => from <= at)
    if (part?.codes.includes(code) !== true)
      throw new Error(`bit ${bit} of ${member} (${part?.part ?? '?'}) was answered ${code}`)
    flips += 1
  }
  return flips
}

async function stateOf(all: World): Promise<string> {
  const { db } = all.fake.context
  const rows = []
  for (const table of [CODES, SESSIONS, HELD, NOTICES]) rows.push(await table.select(db, ''))
  return JSON.stringify(rows)
}

async function subjects(all: World): Promise<readonly Subject[]> {
  const phone = () => handset(all.euicc(7), ADDRESS)
  const codes = await Promise.all([1, 2, 3, 4].map((number) => all.issue(number)))
  const [one, two, three, four] = codes.map(({ matchingId }) => matchingId)
  const first = phone()
  const begun = await good(all, 'initiateAuthentication', first.initiate())
  const second = phone()
  const proven = await authenticated(all, second, two)
  const third = phone()
  const cancelled = await authenticated(all, third, three)
  const fourth = phone()
  const open = await authenticated(all, fourth, four)
  const notices = fourth.install(await good(all, 'getBoundProfilePackage', fourth.prepare(open.answer)))
  const response = (name: string, member: string, body: Fields): Subject => ({
    name,
    member,
    body,
    parts: partsOf(octetsIn(body, member)),
  })
  return [
    response('authenticateClient', 'authenticateServerResponse', first.authenticate(begun, one)),
    response('getBoundProfilePackage', 'prepareDownloadResponse', second.prepare(proven.answer)),
    response('cancelSession', 'cancelSessionResponse', third.cancel(cancelled.answer, 0)),
    ...[...notices, installNotice(all, 7, notices[0] ?? {})].map((body) => ({
      name: 'handleNotification',
      member: 'pendingNotification',
      body,
      parts: [{ part: 'all', from: 0, codes: ['-'] }],
    })),
  ]
}

/** Offsets of what is signed, its signature, and the certificates, in a response with its two outer objects. */
function partsOf(octets: Uint8Array): Subject['parts'] {
  const choice = readOne(octets).children()[0]
  const members = choice?.children() ?? []
  const names = [
    ['signed', SIGNED],
    ['signature', SIGNED],
    ['CERT.EUICC', EUICC],
    ['CERT.EUM', EUM],
  ] as const
  return [
    { part: 'head', from: 0, codes: [...SIGNED] },
    ...members.map(({ at }, place) => {
      const [part, codes] = names[place] ?? ['?', []]
      return { part, from: at, codes: [...codes] }
    }),
  ]
}

const flipped = suite('esim-smdp/bit-flips')

flipped('refuses a flipped bit of whatever is signed, with its code, and changes nothing by it', async () => {
  for (let round = 0; round < rounds(1); round += 1) {
    // Another bit of each octet now and then.
    const flips = await flipBits(13, Math.floor(Math.random() * 13))
    assert.ok(flips > 1_500, String(flips))
  }
})

flipped.run()
