import { assert, suite, testSeed } from '@steeple/testkit'
import fc from 'fast-check'
import { frameReader } from '../src/create-client.ts'

const frames = suite('client/event-frames')

frames('reads fields, data of several lines, and what has no data as no frame', () => {
  const reader = frameReader()
  const text = 'retry: 50\nid: 7\n\n: alive\n\nid:8\nevent: a\ndata: one\ndata:two\nother\n\ndata\n\n'
  assert.equal(reader.take(text), [
    { type: 'a', data: 'one\ntwo' },
    { type: 'message', data: '' },
  ])
  assert.is(reader.lastId(), '8')
  assert.is(reader.retryMs(), 50)
})

frames('takes no id of a frame that is not complete, and none with a NUL', () => {
  const reader = frameReader()
  reader.take('id: 1\ndata: x\n\nid: 2\ndata: y\n')
  assert.is(reader.lastId(), '1')
  reader.take('\nid: 3\0\n\n')
  assert.is(reader.lastId(), '2')
})

frames('refuses a line without an end', () => {
  assert.throws(() => frameReader().take('x'.repeat(4_194_305)), /does not end/)
})

frames('gives the same frames however the text is cut and its lines end', () => {
  const value = fc.string({ maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0]/g, ''))
  const sent = fc.array(fc.record({ type: value, data: fc.array(value, { minLength: 1, maxLength: 3 }) }), {
    maxLength: 5,
  })
  const ends = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(
    fc.property(sent, ends, fc.array(fc.nat(200), { maxLength: 30 }), (all, end, cuts) => {
      const text = all
        .map(({ type, data }) => [`event: ${type}`, ...data.map((one) => `data: ${one}`), '', ''].join(end))
        .join('')
      const reader = frameReader()
      const got = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b)].flatMap(
        (from, at, from_) => reader.take(text.slice(from, from_[at + 1] ?? text.length)),
      )
      // A CR at the very end may be half of an end of line.
      const last = reader.take(end === '\r' ? ':\n' : '')
      assert.equal(
        [...got, ...last],
        all.map(({ type, data }) => ({ type: type === '' ? 'message' : type, data: data.join('\n') })),
      )
    }),
    { seed: testSeed() },
  )
})

frames.run()
