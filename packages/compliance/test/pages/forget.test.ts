import { h, inBrowser, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel } = await import('../../pages/forget.tsx')

/** Erasing what is known of the holder of a SIM: it cannot be taken back. */
const forget = suite('compliance/pages/forget')
inBrowser(forget)

const HASH = '0123456789ab'
const FORGET = `POST /v1/sims/${HASH}/forget`

async function asked(state: string, answer: object) {
  const page = await show(() => h(Panel, { sim: { imsi_sha256_12: HASH, state } as never }), {
    [FORGET]: answer,
  })
  await page.press('Erase data')
  return page
}

forget('asks for the id of the SIM, and that one which works still is revoked by it', async () => {
  for (const [state, isTicked, typed, isOpen] of [
    ['in-use', false, HASH, false],
    ['in-use', true, '', false],
    ['in-use', true, '0123456789ac', false],
    ['in-use', true, ` ${HASH} `, true],
    ['revoked', undefined, '', false],
    ['revoked', undefined, HASH, true],
  ] as const) {
    const page = await asked(state, { waits_for: null })
    assert.is(page.ticks().length, isTicked === undefined ? 0 : 1)
    const [[label = ''] = []] = page.ticks()
    if (isTicked === true) await page.tick(label)
    await page.put(page.labels().at(-1) ?? '', typed)
    assert.is(page.isDisabled('Erase data'), !isOpen, `${state} ${isTicked} ${typed}`)
  }
})

forget('sends what was agreed to, says what it waits for, and leaves the page of the SIM', async () => {
  for (const [state, reason, sent] of [
    ['in-use', ' asked for ', { revoke: true, reason: 'asked for' }],
    ['revoked', ' ', {}],
  ] as const) {
    const page = await asked(state, { waits_for: 'an audit' })
    for (const [label] of page.ticks()) await page.tick(label)
    const [why = '', hash = ''] = page.labels().slice(-2)
    await page.put(why, reason)
    await page.put(hash, HASH)
    await page.press('Erase data')
    assert.equal(page.changes(), [[FORGET, sent]])
    assert.match(page.text(), 'an audit')
    assert.is(page.address(), '/sims')
  }
})

forget('says why not, and forgets what was agreed to when it is asked for afresh', async () => {
  const page = await asked('in-use', new Refusal(409, 'sim_state_conflict', 'it is held'))
  const [[label = ''] = []] = page.ticks()
  await page.tick(label)
  await page.put(page.labels().at(-1) ?? '', HASH)
  await page.press('Erase data')
  assert.match(page.text(), 'it is held')
  await page.press('Cancel')
  await page.press('Erase data')
  assert.not.match(page.text(), 'it is held')
  assert.equal([page.ticks()[0]?.[1], page.isDisabled('Erase data')], [false, true])
})

forget.run()
