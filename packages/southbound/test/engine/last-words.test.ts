import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { lastWords, textOfLog } from '../../src/engine/engine.ts'

const test = suite('southbound/last-words')

test('picks the complaints of a daemon and leaves its small talk out', () => {
  const log = [
    '11/21 06:00:00.000: [app] INFO: Configuration: mme.yaml',
    "\u001b[31m11/21 06:00:00.100: [mme] ERROR: No mme.gummei in 'mme.yaml' (../src/mme/mme-context.c:1)\u001b[0m",
    '11/21 06:00:00.100: [app] INFO: bye',
  ].join('\n')
  assert.is(
    lastWords(log),
    "11/21 06:00:00.100: [mme] ERROR: No mme.gummei in 'mme.yaml' (../src/mme/mme-context.c:1)",
  )
})

test('takes the last lines of one that does not complain, and nothing of one that is silent', () => {
  assert.is(lastWords('a\nb\nc\nd\ne\n'), 'b | c | d | e')
  assert.is(lastWords(' \n\r\n'), '')
})

test('shows no password, key or identity of a subscriber', () => {
  const words = lastWords(
    [
      'ERROR: cannot reach mongodb://admin:hunter2@db:27017/open5gs',
      'ERROR: IMSI 999990000000001 unknown',
      'ERROR: k=465B5CE8B199B49FAA5F0A2EE238A6BC opc: E8ED289DEBA952E4283B54E88E6183CA',
      'ERROR: password: "correct horse"',
    ].join('\n'),
  )
  for (const secret of ['hunter2', '999990000000001', '465B5CE8', 'E8ED289D', 'horse'])
    assert.not.ok(words.includes(secret), `${secret} must not be shown`)
  assert.match(words, /mongodb:\/\/<redacted>@db:27017/)
})

test('is bounded and free of control characters, whatever a container says', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter), maxLength: 5_000 }),
      (log) => {
        const words = lastWords(log)
        return words.length <= 600 && !/\p{Cc}/u.test(words)
      },
    ),
  )
})

test('reads framed and raw logs, and one that was cut off', () => {
  const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, 3])
  assert.is(textOfLog(Buffer.concat([head, Buffer.from('one'), head, Buffer.from('tw')])), 'onetw')
  assert.is(textOfLog(Buffer.from('plain text\n')), 'plain text\n')
  assert.is(textOfLog(Buffer.alloc(0)), '')
})

test.run()
