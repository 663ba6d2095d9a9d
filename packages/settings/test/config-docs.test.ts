import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assert, suite } from '@steeple/testkit'

const docs = suite('settings/docs')
const SCRIPT = fileURLToPath(new URL('../scripts/make-config-docs.mjs', import.meta.url))

docs(
  'is what docs/reference/configuration.md says (else run packages/settings/scripts/make-config-docs.mjs)',
  async () => {
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--no-warnings', SCRIPT, '--print'])
    const text = readFileSync(new URL('../../../docs/reference/configuration.md', import.meta.url), 'utf8')
    assert.is(text, stdout)
    for (const key of ['server.listen', 'core_a.log_dir', 'sims.drift_interval'])
      assert.ok(text.includes(`\`${key}\``), key)
  },
)

docs.run()
