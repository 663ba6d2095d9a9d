import { readFileSync } from 'node:fs'
import { apnProblem } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'

const pattern = suite('policy/apn-pattern')

/** What the schemas of the packages that have keys for APNs ask for. */
function patternOf(packageName: string, path: readonly string[]): RegExp {
  const file = new URL(`../../${packageName}/config.schema.json`, import.meta.url)
  const schema = path.reduce((at, name) => at.properties[name], JSON.parse(readFileSync(file, 'utf8')))
  return new RegExp(schema.items.pattern, 'u')
}

pattern('says of every text what TS 23.003 says of it, in each schema', () => {
  const parts = [
    'internet',
    'ims',
    'a',
    'a-b',
    '-a',
    'a-',
    'rac1',
    'LAC',
    'sgsn',
    'Rnc9',
    '',
    'gprs',
    'GPRS',
    '*',
  ]
  const more = ['a b', 'ä', 'x'.repeat(61), 'x'.repeat(62), 'x'.repeat(63), 'a_b', '.', 'mnc001.mcc001.gprs']
  const texts = [...parts, ...more].flatMap((one) => [one, ...parts.map((other) => `${one}.${other}`)])
  for (const rule of [patternOf('policy', ['policy', 'apns']), patternOf('nodes', ['apns'])])
    for (const text of texts) assert.is(rule.test(text), apnProblem(text) === undefined, JSON.stringify(text))
})

pattern.run()
