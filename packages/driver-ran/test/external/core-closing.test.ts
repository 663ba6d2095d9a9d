import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { assert, suite } from '@steeple/testkit'
import { explained } from '../../src/external/core-closing.ts'

const closing = suite('driver-ran/core-closing')

closing('says in plain words what ended nft', async () => {
  const said = async (script: string): Promise<string> =>
    await promisify(execFile)('sh', ['-c', script]).then(() => '', explained)
  assert.is(await said('kill -KILL $$'), 'it was ended by SIGKILL')
  assert.is(await said('exit 3'), 'it ended with 3')
  assert.is(await said('echo syntax error >&2; exit 1'), 'syntax error')
  assert.is(
    await promisify(execFile)('/nonexistent/nft').then(() => '', explained),
    'it is not installed (Debian: nftables)',
  )
})

closing.run()
