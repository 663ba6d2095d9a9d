import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { compatibilityPage } from '../harness/compatibility/page.ts'
import { KEPT, mergeRuns, readRuns } from '../harness/compatibility/runs.ts'
import { ROOT } from '../harness/launch.ts'
import { fetchOpenApi } from '../harness/openapi.ts'
import { unknownEvents } from '../harness/reference/events.ts'
import { referencePages } from '../harness/reference/pages.ts'
import { type Service, startService } from '../harness/service.ts'

/** What the documentation says there is, held to a service that runs. */
const reference = suite('e2e/reference')

let service: Service

reference.before(async () => {
  service = await startService()
})
reference.after(async () => {
  await service.stop()
})

reference(
  'has every route, error code, metric, event, command and package (else run e2e/harness/reference/make.ts)',
  async () => {
    for (const [name, text] of await referencePages(service)) {
      assert.fixture(readFileSync(join(ROOT, 'docs/reference', name), 'utf8'), text, name)
      assert.ok(text.length > 3_000, `${name} has ${text.length} characters`)
    }
  },
  { limitMs: 120_000 },
)

reference('explains every event that sources tell (else add it to harness/reference/events.ts)', async () => {
  assert.equal(unknownEvents(await fetchOpenApi(service.url)), [])
})

reference('has the versions that were run (else run e2e/harness/compatibility/make.ts)', () => {
  const runs = readRuns(KEPT)
  const page = readFileSync(join(ROOT, 'docs/reference/compatibility.md'), 'utf8')
  assert.fixture(page, compatibilityPage(runs), 'compatibility.md')
  const [first] = runs
  if (first === undefined) throw new Error('no run is kept')
  const later = { ...first, date: '2099-01-01' }
  assert.ok(compatibilityPage(mergeRuns(runs, [later])).includes('| 2099-01-01 |'))
  assert.equal(mergeRuns([later], runs), mergeRuns(runs, [later]))
  assert.throws(() => compatibilityPage([{ ...first, program: 'toaster' }]), /no place for toaster/)
})

reference.run()
