import { assert, suite } from '@steeple/testkit'
import { publicLogLine } from '../src/bundle/bundle.ts'
import { cleanText } from '../src/bundle/clean-text.ts'

const test = suite('lines of the log in a bundle')

const scrub = (text: string): string => text.replaceAll('hunter2', '[redacted]')
const lineOf = (facts: object): Record<string, unknown> =>
  JSON.parse(publicLogLine(JSON.stringify(facts), scrub))

test('keep what the service says of itself', () => {
  const facts = {
    level: 'warn',
    time: '2026-01-01T00:00:00.000Z',
    plugin: 'sims',
    retryMs: 1_000,
    ok: false,
    msg: 'x',
  }
  assert.equal(lineOf(facts), facts)
})

test('lose what somebody typed, who it was and from where', () => {
  const facts = {
    label: 'Ann',
    name: 'Ann',
    ip: '192.0.2.1',
    principal: 'user:ann',
    keys: ['ann'],
    more: { a: 'Ann' },
    msisdn: 31612345678,
  }
  const text = JSON.stringify(lineOf(facts))
  for (const word of ['Ann', 'ann', '192.0.2.1', '31612345678']) assert.not(text.includes(word), word)
  assert.is(lineOf(facts).principal, 'user')
})

test('tell what went wrong, without folders', () => {
  const err = {
    type: 'TypeError',
    code: 'ECONNREFUSED',
    message:
      'no answer of http://u:p@core.example:8000/imsi?key=1 for ann@example.org, hunter2, +31612345678',
    stack: 'TypeError: no\n    at doIt (/home/ann/svc/x.js:1:2)\n    at async file:///home/ann/svc/y.js:3:4',
  }
  const { err: shown } = lineOf({ err, msg: 'failed' })
  assert.equal(shown, {
    type: 'TypeError',
    code: 'ECONNREFUSED',
    message: 'no answer of http://core.example:8000 for [left out], [redacted], [left out]',
    at: ['doIt x.js:1:2', 'y.js:3:4'],
  })
})

test('of a request keep an id that the service has drawn, and a digest of any other', () => {
  const own = '2307ae6a-640b-4141-b60f-28892794101c'
  assert.is(lineOf({ request_id: own }).request_id, own)
  const given = lineOf({ request_id: 'ann-1' }).request_id
  assert.match(String(given), /^given-[0-9a-f]{8}$/)
  assert.is(lineOf({ request_id: 'ann-1' }).request_id, given)
})

test('that were cut off say so', () => {
  assert.equal(JSON.parse(publicLogLine('{"label":"An', scrub)), { msg: '[left out]' })
})

test('name no key of a configuration that is none, which may be a secret without its colon', () => {
  const text =
    'control.yaml:3:1: hunter two is no key of the configuration.\nauth.hunter2 is no key of the configuration'
  const clean = cleanText(text, (same) => same)
  assert.is(clean, 'control.yaml:3:1: … is no key of the configuration.\n… is no key of the configuration')
})

test('keep what is said of URLs, and of each no more than its host', () => {
  const same = (text: string): string => cleanText(text, (plain) => plain)
  const said = 'must be an https:// (or http://) URL, see http://core.example:80, or [::1]'
  assert.is(same(said), said)
  assert.is(same('(https://h.example/x?y), mongodb://a:b/c@h/d'), '(https://h.example), mongodb://[left out]')
  assert.is(same('at http://127.0.0.1:9090/x: refused'), 'at http://127.0.0.1:9090: refused')
  assert.is(same('http://h:1/!room:example.org?key=a,b(c)d.'), 'http://h:1.')
})

test('are cleaned in the time of their length', () => {
  for (const piece of ['a@', 'a.', '://', '1234 ', 'a:'])
    assert.ok(cleanText(piece.repeat(100_000), scrub).length < 10_000)
})

test.run()
