import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'

const size = suite('kernel/size')
/** The kernel is what is left when store, settings, secrets and plugins have taken what is theirs; blank lines and comments apart. */
const MOST_LINES = 9_980
const SOURCES = join(import.meta.dirname, '../src')

size(`has at most ${MOST_LINES} lines`, () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const lines = files.map(
    (name) =>
      readFileSync(join(SOURCES, name), 'utf8')
        .replaceAll(/\/\*[\s\S]*?\*\//g, '')
        .split('\n')
        .filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length,
  )
  const all = lines.reduce((sum, each) => sum + each, 0)
  assert.ok(all > 0 && all <= MOST_LINES, `${all} lines: what can live in a package below the kernel?`)
})

size.run()
