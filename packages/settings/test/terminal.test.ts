import { assert, suite } from '@steeple/testkit'
import { problems } from './load-helper.ts'

const terminal = suite('config/terminal')

terminal('shows control characters of a file as what they are, since its lines go to a terminal', () => {
  const clearScreen = '\u001b[2J'
  const [key = ''] = problems(`"a${clearScreen}": 1\n`)
  assert.match(key, 'a\\u001b[2J is no key of the configuration')
  const [value = ''] = problems(`server:\n  mode: "a\\u0000\\u009b\\u007f"\n`)
  assert.match(value, 'a\\u0000\\u009b\\u007f')
  for (const line of [...problems('server:\n  mode: lab\n\u0000plmn: 1\n'), key, value]) {
    assert.not.match(line, /[\p{Cc}]/u)
  }
})

terminal.run()
