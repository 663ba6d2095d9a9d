import { assert, suite } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { LACKS } from '../harness/builds/program.ts'
import { walkConsole } from '../harness/console-walk.ts'
import { startService } from '../harness/service.ts'

/** The console of whatever build is tried: all that it has, and nothing that it lacks. */
const parts = suite('e2e/console-parts', { limitMs: 600_000 })
const executable = findBrowser()

if (executable !== undefined)
  parts('shows each of its pages, and asks the service for nothing that is not there', async () => {
    const service = await startService({ env: { SVC_HSS_DRIVER: 'none' } })
    const browser = await openBrowser(executable)
    try {
      assert.is((await service.request('POST', '/v1/sims', { body: {} })).status, 201)
      const paths = await walkConsole(browser, service, LACKS)
      process.stdout.write(`# ${paths.length} pages\n`)
    } finally {
      await browser.close()
      await service.stop()
    }
  })

parts.run()
