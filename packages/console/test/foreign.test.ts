import { assert, suite } from '@steeple/testkit'
import { inBrowser, open } from './support/page.ts'

/** The page of the subscribers that a core has already. */
const foreign = suite('console/foreign')
inBrowser(foreign)

const HASH = '0123456789ab'
const ROW = { imsi_sha256_12: HASH, msisdn: null, is_blocked: false, problem: null, slices: [] }

foreign('says in words what a take-over changes, and afterwards what was done', async () => {
  const report = (isDry: boolean): object => ({
    ...{ adopted: 1, failed: 0, left: 0, batch_id: isDry ? null : 'imp-1' },
    results: [
      {
        imsi_sha256_12: HASH,
        status: 'adopted',
        error: null,
        changes: ['AMBR'],
        is_unchanged: isDry ? null : true,
      },
    ],
  })
  let isDry = true
  const page = await open('/sims/foreign', {
    'GET /v1/sims/foreign': { subscribers: [ROW], problem: null, next_cursor: null },
    'POST /v1/sims/adopt': () => report(isDry),
  })
  await page.tick('All of them')
  await page.press('Try')
  assert.match(page.text(), 'Is written anew with the same value')
  assert.match(page.text(), 'speed (AMBR)')
  isDry = false
  await page.press('Take over 1 subscriber')
  assert.match(page.text(), 'Was written anew with the same value')
  assert.not.match(page.text(), 'would be taken over')
})

foreign.run()
