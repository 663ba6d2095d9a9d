import { characterAt, LAST_CHARACTER, placeOfCharacter, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { stringify } from 'yaml'
import { environmentTable } from '../src/environment.ts'
import { parseListenAddress } from '../src/forms.ts'
import { leavesOf, mergedSchema } from '../src/schema-tree.ts'
import { load, problems, SECTIONS } from './load-helper.ts'

const fuzz = suite('config/fuzz')

const SCHEMA = mergedSchema(SECTIONS)
const leaf = fc.constantFrom(...leavesOf(SCHEMA).map(({ path }) => path))
const variable = fc.constantFrom(...environmentTable(SCHEMA).map((row) => row.variable))
const scalar = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null))
const value = fc.oneof({ weight: 3, arbitrary: scalar }, fc.array(scalar), fc.object({ maxDepth: 3 }))
const env = fc.dictionary(fc.oneof(variable, fc.string()), fc.string(), { maxKeys: 5 })

/** Real keys with values of any kind. */
const nearlyRight = fc.array(fc.tuple(leaf, value), { maxLength: 8 }).map((entries) => {
  const root: Record<string, unknown> = {}
  for (const [path, inner] of entries) {
    let map = root
    for (const name of path.slice(0, -1)) {
      const next = map[name]
      map[name] = typeof next === 'object' && next !== null ? next : {}
      map = map[name] as Record<string, unknown>
    }
    map[path.at(-1) ?? ''] = inner
  }
  return root
})

/** Throws on any error but `config_invalid`; every line of that must say something. */
function judge(text: string, environment: Record<string, string>): void {
  const lines = problems(text, { env: environment })
  assert.ok(lines.every((line) => line.trim().length > 10))
}

fuzz('survives any text', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) })),
      env,
      judge,
    ),
    {
      numRuns: rounds(20),
    },
  )
})

fuzz('survives any YAML and JSON', () => {
  fc.assert(
    fc.property(fc.oneof(nearlyRight, fc.object()), fc.boolean(), env, (root, isJson, environment) => {
      judge(isJson ? JSON.stringify(root) : stringify(root), environment)
    }),
    { numRuns: rounds(20) },
  )
})

fuzz('survives damaged YAML', () => {
  const text = stringify({
    server: { listen: ':1', mode: 'lab' },
    plmn: { mcc: '001' },
    apns: ['a', 'b'],
    tac: 5,
  })
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(10), fc.string({ maxLength: 6 }), (at, length, insert) => {
      judge(text.slice(0, at) + insert + text.slice(at + length), {})
    }),
    { numRuns: rounds(20) },
  )
})

fuzz('accepts what it gave out', () => {
  fc.assert(
    fc.property(nearlyRight, (root) => {
      const text = stringify(root)
      if (problems(text).length > 0) return
      const { settings } = load(text)
      assert.equal(load(stringify(settings)).settings, settings)
    }),
    { numRuns: rounds(20) },
  )
})

fuzz('parses a listen address or says that it is none', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.tuple(fc.ipV4(), fc.nat(70_000)).map(([host, port]) => `${host}:${port}`),
      ),
      (text) => {
        const address = parseListenAddress(text)
        if (address === undefined) return
        assert.ok(address.port >= 0 && address.port <= 65_535)
        assert.ok(text.endsWith(`:${text.split(':').at(-1)}`))
      },
    ),
  )
})

fuzz.run()
