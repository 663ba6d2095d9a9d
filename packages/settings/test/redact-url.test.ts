import { assert, cpuMs, suite } from '@steeple/testkit'
import { redactUrls } from '../src/config-error.ts'
import { problems } from './load-helper.ts'

const redact = suite('config/redact-url')

redact('hides user and password of every URL, however they are spelt', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['postgres://user:secret@host/db', 'postgres://***@host/db'],
    ['not "postgres://u:p@ss@host:1/db", nor http://a@b', 'not "postgres://***@host:1/db", nor http://***@b'],
    ['https://host/path@2', 'https://host/path@2'],
    ['mail me@host', 'mail me@host'],
    ['ex+1.a-b://:@h', 'ex+1.a-b://***@h'],
  ]
  for (const [text, expected] of cases) assert.is(redactUrls(text), expected)
})

redact('takes time that grows with the text alone', () => {
  for (const part of ['x', 'a:', '://', '://a', '@', 'a@', '://@', 'http://u:p']) {
    const begun = cpuMs()
    redactUrls(part.repeat(200_000))
    const ms = cpuMs() - begun
    assert.ok(ms < 1_000, `${ms.toFixed(0)} ms for a repeated ${part}`)
  }
})

redact('refuses an endless value in the time of a short one', () => {
  const begun = cpuMs()
  const [line = ''] = problems(`server:\n  country: ${'x'.repeat(200_000)}\n`)
  assert.match(line, 'server.country must be two capital letters')
  assert.ok(cpuMs() - begun < 2_000)
})

redact.run()
