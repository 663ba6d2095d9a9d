import { readOne, type Tlv, tlv } from '@steeple/sgp22'
import { seededDraw } from '@steeple/testkit'
import { type Fields, good, type Handset, handset } from './handset.ts'
import { ADDRESS, type World, world } from './world.ts'

/** Whole numbers below a bound. */
type Draw = (below: number) => number

/** The body of a request that was changed somewhere: its JSON, its base64, its TLV or its octets. */
function mutated(fields: Fields, draw: Draw): Uint8Array {
  const kind = draw(40)
  if (kind === 0) return changedOctets(Buffer.from(JSON.stringify(fields)), draw)
  if (kind === 1) return Buffer.from(JSON.stringify(fields).slice(0, draw(400)))
  const names = Object.keys(fields)
  const name = names[draw(names.length)] ?? ''
  if (kind === 2) return json({ ...fields, [name]: JUNK[draw(JUNK.length)] })
  if (kind === 3) return json(Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name)))
  if (kind === 4) return Buffer.from(`${' '.repeat(draw(30))}${JSON.stringify({ x: JUNK, ...fields })}`)
  return json({ ...fields, [name]: changedText(fields[name] ?? '', draw) })
}

const JUNK: readonly unknown[] = [
  ...[null, 0, -1, 1e300, true, [], {}, '', ' ', '=', 'AAAA', '____', 'MIIB', 'vzgA', '\u0000', '𝄞'],
  ...['A'.repeat(3_000), 'vzj/////', 'MIAAAA==', 'vzgEoAIwAA==', Buffer.alloc(600, 0x30).toString('base64')],
]

function json(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

/** Base64 of octets that were changed; a text that is none is changed as it is. */
function changedText(text: string, draw: Draw): string {
  const octets = Buffer.from(text, 'base64')
  if (octets.toString('base64') !== text || octets.length < 20)
    return Buffer.from(changedOctets(Buffer.from(text), draw)).toString('latin1')
  if (draw(2) === 0) return Buffer.from(changedOctets(octets, draw)).toString('base64')
  return Buffer.from(changedTree(octets, draw)).toString('base64')
}

function changedOctets(octets: Uint8Array, draw: Draw): Uint8Array {
  const copy = Uint8Array.from(octets)
  for (let times = draw(4); times >= 0; times -= 1) {
    const at = draw(copy.length || 1)
    copy[at] = draw(3) === 0 ? draw(256) : (copy[at] ?? 0) ^ (1 << draw(8))
  }
  const kind = draw(8)
  if (kind === 0) return copy.subarray(0, draw(copy.length || 1))
  if (kind === 1) return Buffer.concat([copy, Buffer.alloc(draw(40) + 1, draw(256))])
  return copy
}

/** An object in which one member, somewhere, is missing, twice there, in another place, or another one. */
function changedTree(octets: Uint8Array, draw: Draw): Uint8Array {
  try {
    return changedObject(readOne(octets), draw)
  } catch {
    return changedOctets(octets, draw)
  }
}

function changedObject(of: Tlv, draw: Draw): Uint8Array {
  const children = isConstructed(of) ? of.children() : []
  if (children.length === 0) return changedLeaf(of, draw)
  const at = draw(children.length)
  const raws = children.map(({ raw }) => raw)
  const one = children[at]
  if (one === undefined || draw(3) > 0) {
    if (one !== undefined) raws[at] = changedObject(one, draw)
    return tlv(of.tag, ...raws)
  }
  const kind = draw(5)
  if (kind === 0) raws.splice(at, 1)
  else if (kind === 1) raws.splice(at, 0, one.raw)
  else if (kind === 2) raws.reverse()
  else if (kind === 3) raws.push(tlv(TAGS[draw(TAGS.length)] ?? 0x80, Buffer.alloc(draw(20))))
  else raws[at] = tlv(TAGS[draw(TAGS.length)] ?? 0x80, one.value)
  return tlv(of.tag, ...raws)
}

const TAGS = [0x30, 0x80, 0x81, 0x84, 0xa0, 0xa1, 0x04, 0x5f37, 0x5f49, 0xbf22, 0xbf2f, 0xbf38, 0x7f8181]

function isConstructed({ tag }: Tlv): boolean {
  const first = tag > 0xffff ? tag >> 16 : tag > 0xff ? tag >> 8 : tag
  return (first & 0x20) !== 0
}

function changedLeaf(of: Tlv, draw: Draw): Uint8Array {
  const kind = draw(4)
  if (kind === 0) return tlv(of.tag)
  if (kind === 1) return tlv(of.tag, of.value, Buffer.alloc(draw(300) + 1, draw(256)))
  if (kind === 2) return tlv(TAGS[draw(TAGS.length)] ?? 0x80, of.value)
  return tlv(of.tag, changedOctets(of.value, draw))
}

/** What came out of a run. */
export interface FuzzResult {
  readonly calls: number
  /** How often each answer came, by `function subject/reason`. */
  readonly answers: ReadonlyMap<string, number>
}

/** A request that would go well as it is. */
interface Ready {
  readonly name: string
  readonly body: Fields
}

/** The store is made anew after so many calls. */
const FRESH_EVERY = 2_000
const EUICC = 77

/**
 * Sends `calls` changed requests to a server with open sessions. Throws for an answer that is not of SGP.22's form, and for
 * anything that the server had to log as an error.
 */
export async function fuzz(seed: number, calls: number): Promise<FuzzResult> {
  const draw = seededDraw(seed)
  const answers = new Map<string, number>()
  let all = await world()
  let makers = makersFor(all)
  let ready = await Promise.all(makers.map((make) => make()))
  for (let at = 0; at < calls; at += 1) {
    if (at > 0 && at % FRESH_EVERY === 0) {
      await all.close()
      all = await world()
      makers = makersFor(all)
      ready = await Promise.all(makers.map((make) => make()))
    }
    const place = draw(ready.length)
    const one = ready[place]
    const make = makers[place]
    if (one === undefined || make === undefined) throw new Error('there are requests')
    const answer = await all.call(one.name, mutated(one.body, draw))
    const key = `${one.name} ${answer.code}`
    answers.set(key, (answers.get(key) ?? 0) + 1)
    checkAnswer(all, one.name, answer, `seed ${seed}, call ${at}`)
    if (answer.code === 'ok' && one.name !== 'initiateAuthentication') ready = ready.with(place, await make())
  }
  await all.close()
  return { calls, answers }
}

function checkAnswer(
  all: World,
  name: string,
  answer: { readonly status: number; readonly code: string; readonly body: unknown },
  where: string,
): void {
  const isNotice = name === 'handleNotification'
  const isFormed = isNotice
    ? answer.status === 204 && answer.body === undefined
    : answer.status === 200 && /^(ok|8(\.\d+)+\/\d\.\d+)$/.test(answer.code)
  if (!isFormed) throw new Error(`${where}: ${name} was answered ${answer.status} ${answer.code}`)
  const failure = all.fake.logs.find(({ level }) => level === 'error')
  // The facts hold the error as it was thrown.
  const thrown = failure === undefined ? undefined : (failure.facts as { readonly err?: unknown }).err
  if (failure !== undefined) throw new Error(`${where}: ${name} failed inside`, { cause: thrown })
}

/** Each gives a request that would go well as it is, of a session of its own. */
function makersFor(all: World): readonly (() => Promise<Ready>)[] {
  let number = 0
  const begun = async (): Promise<{ readonly phone: Handset; readonly first: Fields }> => {
    const phone = handset(all.euicc(EUICC), ADDRESS)
    return { phone, first: await good(all, 'initiateAuthentication', phone.initiate()) }
  }
  const authenticate = async (): Promise<{ readonly phone: Handset; readonly body: Fields }> => {
    const { phone, first } = await begun()
    number += 1
    return { phone, body: phone.authenticate(first, (await all.issue(number)).matchingId) }
  }
  const proven = async (): Promise<{ readonly phone: Handset; readonly answer: Fields }> => {
    const { phone, body } = await authenticate()
    return { phone, answer: await good(all, 'authenticateClient', body) }
  }
  const notice = async (place: number): Promise<Ready> => {
    const { phone, answer } = await proven()
    const notices = phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
    return { name: 'handleNotification', body: notices[place] ?? {} }
  }
  return [
    async () => ({
      name: 'initiateAuthentication',
      body: handset(all.euicc(EUICC), ADDRESS).initiate(),
    }),
    async () => ({ name: 'authenticateClient', body: (await authenticate()).body }),
    async () => {
      const { phone, answer } = await proven()
      return { name: 'getBoundProfilePackage', body: phone.prepare(answer) }
    },
    async () => {
      const { phone, answer } = await proven()
      return { name: 'cancelSession', body: phone.cancel(answer, 0) }
    },
    () => notice(0),
    () => notice(1),
  ]
}
