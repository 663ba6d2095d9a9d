import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'

const MODULE = join(import.meta.dirname, '../src/compile-late.ts')
/** A function that is called more often than V8 asks for by itself, and then as often again. */
const PROGRAM = `
  const { compileAsUsual, compileLate } = await import(${JSON.stringify(MODULE)})
  const { cachedDataVersionTag } = await import('node:v8')
  function counted(n) { return [n % 7, n % 11].join('-').length + n }
  const callOften = async (turns) => {
    for (let turn = 0; turn < turns; turn++) {
      for (let call = 0; call < 50; call++) counted(turn + call)
      await new Promise(setImmediate)
    }
  }
  const flags = cachedDataVersionTag()
  compileLate()
  await callOften(60)
  compileAsUsual()
  console.log(cachedDataVersionTag() === flags ? 'as usual' : 'with flags that V8 did not have')
  // What was called by then has as many calls left as it had during the start.
  await callOften(180)
`

const late = suite('cli/compile-late')

late('has V8 compile to machine code what is called often, but not during a start', () => {
  const words = ['--trace-opt', '--input-type=module', '--eval', PROGRAM]
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  assert.is(status, 0, stderr)
  const [start = '', after = ''] = stdout.split('as usual\n')
  assert.not.match(start, /<JSFunction counted /)
  assert.match(after, /<JSFunction counted /, stdout.slice(-2_000))
})

late.run()
