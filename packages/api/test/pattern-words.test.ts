import { DURATION_PATTERN, NAME_PATTERN } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { patternWords } from '../src/pipeline/validate.ts'

const words = suite('api/pattern-words')

words('says what a pattern asks for, and never shows the pattern', () => {
  assert.is(patternWords('^[0-9]{6,15}$'), 'must be 6 to 15 digits')
  assert.is(patternWords('^[0-9]{4}$'), 'must be 4 digits')
  assert.is(patternWords('^[0-9a-f]{12}$'), 'must be 12 hexadecimal digits in lower case')
  assert.match(patternWords(DURATION_PATTERN), /a duration such as 15s/)
  assert.match(patternWords(NAME_PATTERN), /not of spaces alone/)
  for (const odd of ['^(?!x)[^y]+$', '^.*$']) assert.not.ok(patternWords(odd).includes(odd))
})

words('has a name hold something beside spaces', () => {
  const name = new RegExp(NAME_PATTERN, 'u')
  for (const good of ['a', ' a b ', '\u00e4\u00f6', '-']) assert.ok(name.test(good), good)
  for (const bad of ['', ' ', '   ', '\u00a0\u2003', 'a\u0000', 'a\nb'])
    assert.not.ok(name.test(bad), JSON.stringify(bad))
})

words.run()
