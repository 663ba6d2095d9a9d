import { readdirSync, readFileSync } from 'node:fs'
import { countText } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'

const counts = suite('nodes/count-text')

counts('says one of a thing as one, and all else as many', () => {
  assert.equal(
    [0, 1, 2, 'unknown', '1,024', '1'].map((count) => countText(count, 'SIM')),
    ['0 SIMs', '1 SIM', '2 SIMs', 'unknown SIMs', '1,024 SIMs', '1 SIM'],
  )
  assert.is(countText(1, 'message waits', 'messages wait'), '1 message waits')
  assert.is(countText(0, 'message waits', 'messages wait'), '0 messages wait')
})

/** A number that may be one before what is counted in the plural. */
const UNIFORM =
  /\$\{(?!countText)([^{}]+)\} (?:attached |open )?(?:SIMs|phones|sessions|base stations|messages|subscribers|files|connections|quotas|certificates|peers wait)\b/g
/** Bounds, which are never one: those of the code, and of the configuration. */
const BOUND = /^[A-Z][A-Z_]+$|\bmax_?\w+|^maxUes$/i
/** Beside a text of its own for one, or as a part of a number of them. */
const ELSEWHERE = ['radios', 'length', 'members.length', 'files.length', 'count']

counts('is what says how many there are of something, wherever the service says it', () => {
  const packages = new URL('../../', import.meta.url)
  const found = readdirSync(packages).flatMap((name) => {
    const folder = new URL(`${name}/src/`, packages)
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        [...readFileSync(new URL(file, folder), 'utf8').matchAll(UNIFORM)]
          .filter(([, counted = '']) => !BOUND.test(counted) && !ELSEWHERE.includes(counted))
          .map(([text]) => `${name}/${file}: ${text}`),
      )
  })
  assert.equal(found, [])
})

counts.run()
