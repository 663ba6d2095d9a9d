import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { child, MAX_DEPTH, readAll, readOne, type Tlv, TlvError, tlv } from '../src/tlv.ts'
import { hex, octets } from './support/answers.ts'

const texts = suite('sgp22/tlv')

/** What an object is made of: octets, or objects. */
interface Model {
  readonly tag: number
  readonly parts: Uint8Array | readonly Model[]
}

const primitiveTag = fc.constantFrom(0x02, 0x04, 0x5a, 0x80, 0x5f37, 0x5f49, 0x9f7f, 0x9f8101)
const constructedTag = fc.constantFrom(0x30, 0x61, 0xa0, 0xbe, 0xbf21, 0xbf36, 0xbf8102)
const { model } = fc.letrec<{ model: Model; leaf: Model; branch: Model }>((tie) => ({
  leaf: fc.record({
    tag: primitiveTag,
    parts: fc.uint8Array({ maxLength: 300 }),
  }),
  branch: fc.record({ tag: constructedTag, parts: fc.array(tie('model'), { maxLength: 5 }) }),
  model: fc.oneof({ maxDepth: 6 }, tie('leaf'), tie('branch')),
}))

const written = ({ tag, parts }: Model): Uint8Array =>
  parts instanceof Uint8Array ? tlv(tag, parts) : tlv(tag, ...parts.map(written))

/** Compares what was read with what it was written from, and where it stands. */
function same(object: Tlv, made: Model, whole: Uint8Array): void {
  assert.is(object.tag, made.tag)
  assert.is(hex(whole.subarray(object.at, object.at + object.raw.length)), hex(object.raw))
  if (made.parts instanceof Uint8Array) {
    assert.is(hex(object.value), hex(made.parts))
    return
  }
  const children = object.children()
  assert.is(children.length, made.parts.length)
  for (const [i, part] of made.parts.entries()) {
    const one = children[i]
    if (one !== undefined) same(one, part, whole)
  }
}

texts('reads what it wrote, whatever is nested in what, and says where each stands', () => {
  fc.assert(
    fc.property(fc.array(model, { minLength: 1, maxLength: 4 }), (models) => {
      const whole = new Uint8Array(Buffer.concat(models.map(written)))
      const objects = readAll(whole)
      assert.is(objects.length, models.length)
      for (const [i, object] of objects.entries()) {
        const made = models[i]
        if (made !== undefined) same(object, made, whole)
      }
    }),
    { numRuns: 200 },
  )
})

/** All objects to the last one, as a reader of a stranger's text would go. */
function walk(objects: readonly Tlv[]): number {
  return objects.reduce((count, one) => {
    const isConstructed = ((one.raw[0] ?? 0) & 0x20) !== 0
    return count + 1 + (isConstructed ? walk(one.children()) : 0)
  }, 0)
}

texts('answers any octets with objects that make them up, or says within them what is wrong', () => {
  const near = fc.tuple(model, fc.nat(), fc.nat(255)).map(([made, where, octet]) => {
    const text = Uint8Array.from(written(made))
    text[where % text.length] = octet
    return text
  })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), near), (text) => {
      try {
        const objects = readAll(text)
        assert.is(hex(Buffer.concat(objects.map(({ raw }) => raw))), hex(text))
        walk(objects)
      } catch (error) {
        if (!(error instanceof TlvError)) throw error
        assert.ok(error.at >= 0 && error.at <= text.length)
      }
    }),
    { numRuns: 500 },
  )
})

texts('writes the shortest length and reads every length that fits', () => {
  for (const [length, head] of [
    [0, '0400'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_535, '0482ffff'],
    [65_536, '0483010000'],
  ] as const) {
    const whole = tlv(0x04, new Uint8Array(length))
    assert.is(hex(whole.subarray(0, head.length / 2)), head)
    assert.is(readOne(whole).value.length, length)
  }
  assert.is(readOne(octets('04810100')).value.length, 1)
})

texts('says what is wrong with a text, and where', () => {
  for (const [text, message] of [
    ['', 'offset 0: is empty'],
    ['0400ff', 'offset 2: ends in the middle of an object'],
    ['04000400', 'offset 2: something stands behind the object'],
    ['0402ff', 'offset 0: says 2 octets, and 1 are there'],
    ['0480ff', 'offset 0: has a length of no use here'],
    ['0484000000', 'offset 0: has a length of no use here'],
    ['bf81', 'offset 2: ends in the middle of an object'],
    ['bf81818100', 'offset 0: has a tag of more than three octets'],
  ] as const)
    assert.throws(() => readOne(octets(text)), message)
  assert.throws(() => readOne(octets('3003040201')).children(), 'offset 2: says 2 octets, and 1 are there')
})

texts('goes no deeper than it says', () => {
  let whole = tlv(0x04)
  for (let depth = 0; depth < MAX_DEPTH; depth++) whole = tlv(0x30, whole)
  assert.is(walk(readAll(whole)), MAX_DEPTH + 1)
  assert.throws(() => walk(readAll(tlv(0x30, whole))), /nested deeper than 32/)
})

texts('finds a child by its tag', () => {
  const one = readOne(octets('30078001018002ffff'))
  assert.is(hex(child(one, 0x80)?.value ?? new Uint8Array(0)), '01')
  assert.is(child(one, 0x81), undefined)
})

texts.run()
