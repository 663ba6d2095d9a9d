import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { type Service, startService } from '../harness/service.ts'

/** What programs that others wrote make of the document of our API. `generators/get.sh` brings them. */
const foreign = suite('e2e/foreign-generators')
const PROGRAMS = join(homedir(), '.cache/steeple-test/openapi-programs-2')
const LIMIT = { limitMs: 600_000 }
let service: Service
let folder: string
let document: string
/** Name of each operation, as the document has it. */
let operations: readonly string[]

foreign.before(async () => {
  assert.ok(existsSync(join(PROGRAMS, 'ready')), 'run e2e/generators/get.sh first')
  folder = mkdtempSync(join(tmpdir(), 'steeple-openapi-'))
  document = join(folder, 'openapi.json')
  service = await startService({ env: { SVC_HSS_DRIVER: 'none' } })
  const { body } = await service.request('GET', '/v1/openapi.json')
  writeFileSync(document, JSON.stringify(body))
  operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    (path) => Object.values(path).map(({ operationId }) => operationId),
  )
}, LIMIT)
foreign.after(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs one of them in the folder; what it printed. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { stdout, stderr, status } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    maxBuffer: 2 ** 26,
  })
  assert.is(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`.slice(0, 4_000))
  return stdout + stderr
}

foreign(
  'spectral has nothing to complain of',
  () => {
    // Nobody answers questions by mail.
    const rules = { extends: ['spectral:oas'], rules: { 'info-contact': 'off' } }
    writeFileSync(join(folder, '.spectral.json'), JSON.stringify(rules))
    const program = join(PROGRAMS, 'npm/node_modules/@stoplight/spectral-cli/dist/index.js')
    const said = run(process.execPath, [
      program,
      'lint',
      document,
      '--ruleset',
      '.spectral.json',
      '--fail-severity',
      'hint',
    ])
    assert.match(said, /No results with a severity of/)
  },
  LIMIT,
)

foreign(
  'openapi-typescript makes types of every operation',
  () => {
    const program = join(PROGRAMS, 'npm/node_modules/openapi-typescript/bin/cli.js')
    run(process.execPath, [program, document, '-o', 'api.ts'])
    const types = readFileSync(join(folder, 'api.ts'), 'utf8')
    assert.equal(
      operations.filter((name) => !types.includes(`operations["${name}"]`)),
      [],
    )
  },
  LIMIT,
)

foreign(
  'openapi-python-client makes a function of every operation',
  () => {
    const said = run(
      'python3',
      [
        '-m',
        'openapi_python_client',
        'generate',
        '--path',
        document,
        '--output-path',
        'python',
        '--meta',
        'none',
      ],
      { PYTHONPATH: join(PROGRAMS, 'python') },
    )
    assert.not.match(said, /Endpoint will not be generated|Missing schema|Duplicate/)
    const api = join(folder, 'python/api')
    const made = readdirSync(api, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\/(?!__init__)\w+\.py$/.test(name),
    )
    assert.is(made.length, operations.length)
    run('python3', ['-m', 'compileall', '-q', 'python/api'])
  },
  LIMIT,
)

foreign(
  'openapi-generator finds the document valid, and makes a Go function of every operation',
  () => {
    // It lives for seconds: the second compiler would cost more than its programs save.
    const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']
    const java = [...flags, '-jar', join(PROGRAMS, 'openapi-generator.jar')]
    assert.match(run('java', [...java, 'validate', '-i', document]), /No validation issues detected/)
    run('java', [...java, 'generate', '-g', 'go', '-i', document, '-o', 'go', '--global-property', 'apis'])
    const text = readdirSync(join(folder, 'go'))
      .filter((name) => name.endsWith('.go'))
      .map((name) => readFileSync(join(folder, 'go', name), 'utf8'))
      .join()
    // GetV1NodesId of get_v1_nodes_id
    const goName = (name: string): string =>
      name.replaceAll(/(?:^|_)(.)/g, (_all, letter: string) => letter.toUpperCase())
    assert.equal(
      operations.filter((name) => !text.includes(`) ${goName(name)}(ctx`)),
      [],
    )
  },
  LIMIT,
)

foreign.run()
