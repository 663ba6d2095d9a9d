import { execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { assert, suite, tempDir } from '@steeple/testkit'
import { fakeService } from './fake-service.ts'
import { cleanEnv, MAIN, svc } from './svc.ts'

const usage = suite('cli/usage')

usage('prints its version and exits 0', async () => {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { readonly version: string }
  assert.equal(await svc(['--version']), { code: 0, out: `${version}\n`, err: '' })
})

usage('answers a wrong call with one line and exit code 2', async () => {
  const calls: readonly (readonly [readonly string[], RegExp])[] = [
    [['statsu'], /unknown command 'statsu' \(Did you mean status\?\); svc --help/],
    [['--data-dri', 'x'], /unknown option '--data-dri' \(Did you mean --data-dir\?\); svc serve --help/],
    [['--url', 'http://box'], /--url needs a command/],
    [['--log-level', 'loud'], /debug, info, warn, error/],
    [['--config'], /argument missing/],
    [['token'], /svc token needs a command; svc token --help/],
    [['token', 'melt'], /unknown command 'melt'; svc token --help/],
    [['tokens', '--help'], /unknown command 'tokens' \(Did you mean token\?\)/],
    [['token', 'melt', '--help'], /unknown command 'melt'; svc token --help/],
    [['token', 'create'], /missing required argument 'name'/],
    [['token', 'create', 'x'], /at least one --role/],
    [['status', '--listen', 'x'], /unknown option '--listen'/],
    [['status', 'now'], /too many arguments/],
    [['status', '--url', 'ftp://box'], /begins with http/],
    [['status', '--url', 'http://me:secret-word@box'], /SVC_TOKEN or --token-file/],
    [['nodes', 'list', '--limit', '0'], /whole number from 1 on/],
    [['spectrum', 'check', '--technology', 'lte'], /--channel/],
    [['spectrum', 'check', '--technology', '6g', '--channel', '1'], /lte, nr/],
    [['policy', 'set', '=1'], /no key.path=value/],
    [['plugin', 'new', 'Bad_Name', '--kind', 'hss'], /no plugin name/],
    [['plugin', 'new', 'x', '--kind', 'toaster'], /core, hss, ran, collector, feature/],
  ]
  for (const [args, message] of calls) {
    const { code, out, err } = await svc(args)
    assert.is(code, 2, `svc ${args.join(' ')}`)
    assert.is(out, '')
    assert.match(err, /^svc: [^\n]+\n$/)
    assert.match(err, message)
    assert.ok(err.split(/\s+/).length <= 26, err)
    assert.not.match(err, /secret-word/)
  }
})

usage('shows the help of a command on standard output', async () => {
  const { code, out, err } = await svc(['policy', 'set', '--help'])
  assert.is(code, 0)
  assert.match(out, /Usage: svc policy set/)
  assert.is(err, '')
  const bare = await svc([])
  assert.equal([bare.code, bare.err], [0, ''])
  assert.match(bare.out, /^Usage: svc .*^ {2}status .*svc COMMAND --help/ms)
})

usage('writes completions that name every command', async () => {
  const scripts = await Promise.all(['bash', 'zsh', 'fish'].map((shell) => svc(['completion', shell])))
  for (const { code, out } of scripts) {
    assert.is(code, 0)
    for (const word of ['doctor', 'spectrum', 'rotate', 'reload']) assert.match(out, word)
  }
})

usage('completes values: those that it knows and those that the service knows', async () => {
  const rows = [
    { imsi_sha256_12: '5c1b940e9d29', batch_id: 'b-1', profile: 'default', apns: ['internet', 'ims'] },
    { imsi_sha256_12: '5c1b940e9d30', batch_id: 'b-1', profile: 'two words' },
  ]
  const service = await fakeService(({ path }) => ({
    body:
      path === '/v1/plugins'
        ? { plugins: [{ name: 'nodes' }], next_cursor: null }
        : { sims: rows, next_cursor: null },
  }))
  const asked = async (...words: readonly string[]): Promise<string> => {
    const script = `eval "$($SVC completion bash)"; svc() { $SVC "$@"; }
        COMP_WORDS=(svc "$@"); COMP_CWORD=$#; _svc_completion; echo "\${COMPREPLY[*]}"`
    const SVC = `${process.execPath} --no-warnings ${MAIN}`
    const env = cleanEnv({ SVC, SVC_URL: service.url, SVC_TOKEN: 'svc_test' })
    const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', ...words], { env })
    return stdout.trim()
  }
  try {
    assert.is(await asked('sim', 'list', '--state', 'in'), 'in-use')
    assert.is(await asked('sim', 'export', '--format', ''), 'csv pysim json')
    assert.is(await asked('sim', 'suspend', '--wait', '5s', '5c'), '5c1b940e9d29 5c1b940e9d30')
    assert.is(await asked('sim', 'export', ''), 'b-1')
    assert.is(await asked('sim', 'list', '--profile', ''), 'default')
    assert.is(await asked('plugin', 'reload', ''), 'nodes')
    assert.is(await asked('session', 'list', '--apn', 'i'), 'internet ims')
    assert.is(await asked('session', 'list', '--sim', '5c1b940e9d3'), '5c1b940e9d30')
    assert.is(await asked('session', 'list', '--state', 'e'), 'ended')
    assert.is(await asked('usage', '--by', 'hour', '5c1b940e9d3'), '5c1b940e9d30')
    assert.is(await asked('sim', 'list', '--att'), '--attached')
  } finally {
    await service.close()
  }
  const away = await svc(['__values', 'sims'], { env: { SVC_URL: 'http://127.0.0.1:1' } })
  assert.equal(away, { code: 0, out: '', err: '' })
})

usage('ends silently when the reader of its output goes away', async () => {
  const child = spawn(process.execPath, ['--no-warnings', MAIN, 'completion', 'fish'], {
    env: cleanEnv(),
    stdio: 'pipe',
  })
  child.stdout.destroy()
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  assert.equal([await text(child.stderr), await ended], ['', 1])
})

usage(
  'says each problem of the configuration on a line of its own when the service does not start',
  async () => {
    await using folder = await tempDir()
    const file = join(folder.path, 'control.yaml')
    writeFileSync(file, 'serve: {}\ntac: 70000\n"\\e[31m": 1\n')
    const { code, out, err } = await svc(['--config', file, '--data-dir', join(folder.path, 'data')])
    assert.equal([code, out], [1, ''])
    assert.is(err.trimEnd().split('\n').length, 3, err)
    for (const place of [':1:1: ', ':2:6: ', ':3:1: ']) assert.match(err, `${file}${place}`)
    assert.not.ok(err.includes('\u001b') || err.includes('\ufffd'), err)
  },
)

usage.run()
