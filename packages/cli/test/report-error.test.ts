import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { CommandError } from '../src/command-error.ts'
import { reportError } from '../src/output/report-error.ts'
import type { Terminal } from '../src/terminal.ts'

const report = suite('cli/report-error')

/** What is said of an error, and the exit code. */
function told(error: unknown): { readonly said: string; readonly code: number } {
  let said = ''
  const terminal = {
    err: (text: string) => {
      said += text
    },
  }
  // It says everything by this alone.
  const code = reportError(terminal as Terminal, error, false)
  return { said, code }
}

report('says what the system refuses once, and what to do about it', async () => {
  await using folder = await tempDir()
  const file = join(folder.path, 'file')
  writeFileSync(file, '')
  try {
    mkdirSync(join(file, 'keys'))
    assert.unreachable('a file has no folders')
  } catch (error) {
    const { said, code } = told(error)
    assert.is(code, 1)
    assert.match(
      said,
      /^ENOTDIR: not a directory, mkdir '.*\/file\/keys'; a file lies in the place of a folder; .*\n$/,
    )
  }
})

report('leaves what begins with another word than its code as it is', () => {
  const error = Object.assign(new Error('ENOSPC is not what it says'), { code: 'store_unavailable' })
  assert.is(told(error).said, 'store_unavailable: ENOSPC is not what it says\n')
})

report('says no reason twice', () => {
  const reasons = [
    'license: none is acknowledged; set spectrum.license',
    'allow-list: it has no entry of LAB',
  ]
  const details = reasons.map((message, at) => ({ pointer: `/gates/${at}`, message }))
  const message =
    'the TX gate is closed: license (none is acknowledged; set spectrum.license); allow-list (it has no entry of LAB)'
  const error = new CommandError(1, 'tx_gate_closed', message, { details })
  assert.is(told(error).said, `tx_gate_closed: ${message}\n`)
  const more = [...details, { pointer: '/tac', message: 'must be integer' }]
  assert.is(
    told(new CommandError(1, 'tx_gate_closed', message, { details: more })).said,
    `tx_gate_closed: ${message}\n  /tac: must be integer\n`,
  )
})

report.run()
