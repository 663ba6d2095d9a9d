import { fileURLToPath } from 'node:url'
import { assert, suite } from '@steeple/testkit'
import { readDocumentation } from '../src/pages.ts'
import { groupsOf, llmsText } from '../src/site.ts'

/** The list of pages for programs. */
const llms = suite('docs/llms')

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

llms('says of each page in a whole sentence what it is about', () => {
  const documentation = readDocumentation(ROOT, new Set())
  const groups = groupsOf(documentation)
  const lines = llmsText(groups, documentation)
    .split('\n')
    .filter((line) => line.startsWith('- ['))
  assert.is(lines.length, groups.flatMap(({ entries }) => entries).length)
  const isWhole = (line: string): boolean =>
    /\): [A-Z`].*\.$/.test(line) &&
    !line.includes('```') &&
    line.split('`').length % 2 === 1 &&
    line.split('(').length === line.split(')').length
  assert.equal(
    lines.filter((line) => !isWhole(line)),
    [],
  )
})

llms.run()
