import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { runTests } from '../src/run-tests.ts'

const runs = suite('plugin-kit/run-tests')

/** A test file that writes down what it was run with. */
const noting = (name: string, more = ''): string => `${more}
import { appendFileSync } from 'node:fs'
appendFileSync('ran', '${name}=' + (process.env.SVC_CONFORMANCE_MUTANTS ?? '') + '\\n')
`

/** The project's tests that were run, in their order, with the value of the variable. */
async function ranOf(dir: string, options: Parameters<typeof runTests>[1]): Promise<string> {
  await writeFile(join(dir, 'ran'), '')
  await runTests(dir, options)
  return await readFile(join(dir, 'ran'), 'utf8')
}

runs('has the conformance suites alone try mutants', async () => {
  await using dir = await tempDir()
  await mkdir(join(dir.path, 'test'))
  await writeFile(join(dir.path, 'test', 'a.test.js'), noting('a'))
  const says = await runTests(dir.path, { mutants: true }).catch(String)
  assert.match(String(says), /other suites have no mutants/)
  const calls = '// hssDriverConformance('
  await writeFile(join(dir.path, 'test', 'b.test.js'), noting('b', calls))
  assert.is(await ranOf(dir.path, {}), 'a=\nb=\n')
  assert.is(await ranOf(dir.path, { mutants: true }), 'b=1\n')
  assert.is(await ranOf(dir.path, { part: 'a.' }), 'a=\n')
})

runs.run()
