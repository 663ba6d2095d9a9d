import { assert, suite } from '@steeple/testkit'
import { arranged } from '../src/commands/arranged.ts'
import type { ServiceFlags } from '../src/flags.ts'
import { serviceFlagsOf } from '../src/flags.ts'
import { buildProgram, runProgram } from '../src/program.ts'
import { deafTerminal } from './fake-service.ts'

const words = suite('cli/flags')

const terminal = deafTerminal({})

/** What the command tree makes of them; undefined when it does not run the service. */
async function byTree(line: readonly string[]): Promise<ServiceFlags | undefined> {
  let flags: ServiceFlags | undefined
  const serve = async (given: ServiceFlags): Promise<void> => {
    flags = { ...given }
  }
  await runProgram(terminal, serve, line).catch(() => undefined)
  return flags
}

words('are read without the command tree as the tree reads them', async () => {
  const lines = [
    ['serve'],
    ['serve', '--safe-mode'],
    ['--data-dir', 'data', '--listen', '127.0.0.1:0'],
    ['--data-dir=a=b', '--log-level=debug', '--first-start'],
    ['--config', 'a.yaml', '--safe-mode', '--config', 'b.yaml'],
  ]
  for (const line of lines) {
    const flags = serviceFlagsOf(line)
    assert.ok(flags !== undefined, line.join(' '))
    assert.equal(flags, await byTree(line), line.join(' '))
  }
})

words('that are not plain flags of the service are left to the command tree', () => {
  const lines = ['', 'status', '--help', '--version', '--data-dir', '--data-dir=', '--listen --safe-mode']
  const others = [
    '--log-level loud',
    '--safe-mode=yes',
    '--data-dir a status',
    '--datadir a',
    '-- --safe-mode',
  ]
  for (const line of [...lines, ...others])
    assert.is(serviceFlagsOf(line === '' ? [] : line.split(' ')), undefined, line)
})

words('have the present name where they say an earlier one', () => {
  const line = (text: string): string =>
    arranged(
      buildProgram(terminal, async () => undefined),
      text.split(' '),
    ).line.join(' ')
  assert.is(line('nodes list --json'), 'node list --json')
  assert.is(line('sessions --state ended'), 'session list --state ended')
  assert.is(line('--url http://box user certs ann'), 'user cert list --url http://box ann')
  assert.is(line('mesh members --json'), 'mesh member list --json')
  assert.is(line('user cert ann --use'), 'user cert add ann --use')
  assert.is(line('user cert list ann'), 'user cert list ann')
  assert.is(line('user --json unpasskey ann 1'), 'user passkey remove --json ann 1')
  assert.is(line('sim list sessions'), 'sim list sessions')
})

words('may have options before a command or inside it, and --wait without a duration anywhere', () => {
  const program = buildProgram(terminal, async () => {})
  const lines = [
    ['--url http://box status', 'status --url http://box'],
    ['--json --token-file=a sim --ca b list --limit 3', 'sim list --json --token-file=a --ca b --limit 3'],
    ['sim resume --wait 0123456789ab --json', 'sim resume 0123456789ab --json --wait'],
    ['sim resume --wait 5s 0123456789ab', 'sim resume --wait 5s 0123456789ab'],
    ['status --wait', 'status --wait'],
    ['--listen :1 --safe-mode', 'serve --listen :1 --safe-mode'],
    ['--url http://box sta --help', 'sta'],
    ['sim --help', 'sim --help'],
  ]
  for (const [typed = '', line = ''] of lines)
    assert.equal(arranged(program, typed.split(' ')).line, line.split(' '), typed)
})

words.run()
