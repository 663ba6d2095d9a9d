import { h, inBrowser, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel: BulkPanel } = await import('../../pages/bulk-quota.tsx')
const { Panel } = await import('../../pages/quota.tsx')
const { QuotaDialog, TopUpDialog } = await import('../../pages/quota-dialogs.tsx')

/** The quota of a SIM as it is set, changed and topped up. */
const quota = suite('fair-use/pages/quota')
inBrowser(quota)

const [MB, GB] = [1e6, 1e9]
const HASH = '0123456789ab'
const usage = (more: object = {}) => ({
  ...{ imsi_sha256_12: HASH, quota_bytes: 5 * GB, added_bytes: 0, period: 'month', action: 'suspend' },
  throttle_bps: null,
  ...{ total_bytes: 0, remaining_bytes: 5 * GB, ...more },
})
const QUOTA = `POST /v1/sims/${HASH}/quota`

function dialogOf(which: typeof QuotaDialog, more: object = {}, answer: object = usage()) {
  const told: string[] = []
  const props = {
    ...{ usage: usage(more) as never, etag: '"1"' },
    ...{ onClose: () => told.push('closed'), onChanged: () => told.push('changed') },
  }
  return { told, page: show(() => h(which, props), { [QUOTA]: answer }) }
}

quota(
  'opens in the unit that it was set in, and sends what is typed with the tag it was read with',
  async () => {
    for (const [bytes, amount, unit, typed, sent] of [
      [5 * GB, '5', 'GB', '7,5', 7.5 * GB],
      [30 * MB, '30', 'MB', '40', 40 * MB],
      [1.5 * GB, '1.5', 'GB', '2', 2 * GB],
    ] as const) {
      const { page: coming, told } = dialogOf(QuotaDialog, { quota_bytes: bytes })
      const page = await coming
      assert.equal([page.field('Amount').value, page.field('Unit').value], [amount, unit])
      await page.put('Amount', typed)
      await page.press('Save')
      assert.equal(page.changes(), [[QUOTA, { quota_bytes: sent, period: 'month', action: 'suspend' }]])
      assert.is(page.asked().at(-1)?.headers.get('if-match') ?? '"1"', '"1"')
      assert.equal(told, ['changed', 'closed'])
    }
  },
)

quota('says in the box and in the dialog that nothing is counted, and why', async () => {
  const why = 'collector.upf.enabled is false: nothing counts octets'
  const off = {
    known_until: null,
    unknown_reason: why,
    enforcement: 'none',
    over_quota: false,
    period_end: null,
  }
  const dialog = await dialogOf(QuotaDialog, off).page
  assert.match(
    dialog.text(),
    `Counting is off: no data is counted on this box, and quotas are not used up. ${why}`,
  )
  const sim = { imsi_sha256_12: HASH, state: 'in-use' } as never
  const answers = { [`GET /v1/sims/${HASH}/usage`]: usage({ ...off, quota_bytes: null }) }
  const page = await show(() => h(Panel, { sim }), answers)
  assert.match(page.text('Quota'), /Counting is off/)
  // It counts, and nobody has used any.
  const before = usage({ ...off, quota_bytes: null, unknown_reason: null })
  const idle = await show(() => h(Panel, { sim }), { [`GET /v1/sims/${HASH}/usage`]: before })
  assert.match(idle.text('Quota'), /Counting is on\. No phone has used data yet\./)
  assert.not.match(idle.text(), /Counting is off/)
  const on = { ...off, known_until: '2026-11-29T12:00:00Z', unknown_reason: null }
  const well = await dialogOf(QuotaDialog, on).page
  assert.not.match(well.text(), /Counting is off/)
})

quota('is set for all SIMs that are ticked, says whom it cuts off, and goes on past a refusal', async () => {
  const sims = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter, at) => ({
    ...{
      imsi_sha256_12: letter.repeat(12),
      usage_bytes: at * GB,
      state: letter === 'f' ? 'revoked' : 'in-use',
    },
  }))
  let done = 0
  let isRefused = true
  const set = sims.map(({ imsi_sha256_12: hash }) => [
    `POST /v1/sims/${hash}/quota`,
    () => (hash.startsWith('b') && isRefused ? new Refusal(409, 'conflict', 'not now') : usage()),
  ])
  const page = await show(
    () => h(BulkPanel, { sims: sims as never, onDone: () => (done += 1) }),
    Object.fromEntries(set),
  )
  await page.press('Set quota')
  await page.put('Amount', '3')
  assert.match(page.text(), '2 SIMs have used as much already: they are suspended at once')
  await page.press('Save')
  assert.is(page.changes().length, 5)
  assert.match(page.dialog() ?? '', 'Set the quota of 1 SIM')
  isRefused = false
  await page.press('Save')
  assert.equal(page.changes(), [
    [`POST /v1/sims/${'b'.repeat(12)}/quota`, { quota_bytes: 3 * GB, period: 'month', action: 'suspend' }],
  ])
  assert.equal([page.dialog(), done], [undefined, 1])
})

quota('says once that a quota suspends', async () => {
  const over = {
    unknown_reason: null,
    over_quota: true,
    quota_bytes: GB,
    total_bytes: 2 * GB,
    period_end: null,
    known_until: '2026-11-29T12:00:00Z',
  }
  const sim = { imsi_sha256_12: HASH, state: 'suspended' } as never
  const shown = async (enforcement: string): Promise<string> => {
    const answers = { [`GET /v1/sims/${HASH}/usage`]: usage({ ...over, enforcement }) }
    return (await show(() => h(Panel, { sim }), answers)).text('Quota')
  }
  const held = await shown('suspended')
  assert.match(held, 'The SIM is suspended because of its quota.')
  assert.not.match(held, 'used up')
  assert.match(await shown('none'), /The quota is used up\.[\s\S]*The SIM is suspended when it is used up\./)
})

quota(
  'asks once before an amount that is a hundred times another, and again when another is typed',
  async () => {
    const { page: coming } = dialogOf(QuotaDialog)
    const page = await coming
    await page.put('Amount', '5000')
    await page.press('Save')
    assert.equal(page.changes(), [])
    const asks = page.buttons().find((name) => name.includes('5 TB'))
    assert.ok(asks, page.buttons().join(' | '))
    await page.put('Amount', '6000')
    await page.press('Save')
    assert.equal(page.changes(), [], 'that was about another amount')
    await page.press(page.buttons().find((name) => name.includes('6 TB')) ?? '')
    assert.equal(page.changes(), [[QUOTA, { quota_bytes: 6e12, period: 'month', action: 'suspend' }]])
  },
)

quota('says of a quota that is used up already what happens at once', async () => {
  const page = await dialogOf(QuotaDialog, { total_bytes: 26 * MB, quota_bytes: 30 * MB }).page
  assert.not.match(page.text(), 'at once')
  await page.put('Amount', '20')
  assert.match(page.text(), 'This SIM has used 26 MB already: it is suspended at once.')
  await page.put('Amount', '26.5')
  assert.not.match(page.text(), 'at once')
})

quota('says of a top-up that is not enough how much is still missing', async () => {
  const over = { total_bytes: 26 * MB, quota_bytes: 20 * MB, remaining_bytes: 0 }
  const page = await dialogOf(TopUpDialog, over, usage({ ...over, added_bytes: MB })).page
  await page.put('Amount', '1')
  await page.press('Top up')
  assert.match(page.text(), 'Topped up, but 5 MB more than that is used.')
})

quota('keeps the rate of its own when something else of the quota is changed', async () => {
  for (const [bps, shown] of [
    [64_000, '64'],
    [1_500, '1.5'],
  ] as const) {
    const { page: coming } = dialogOf(QuotaDialog, { action: 'throttle', throttle_bps: bps })
    const page = await coming
    assert.is(page.field('Reduced speed, kbit/s').value, shown)
    await page.put('Amount', '6')
    await page.press('Save')
    const body = { quota_bytes: 6 * GB, period: 'month', action: 'throttle', throttle_bps: bps }
    assert.equal(page.changes(), [[QUOTA, body]])
  }
})

quota('throttles to what is typed, and leaves the rate to the service where nothing is', async () => {
  for (const [rate, sent] of [
    ['128', { throttle_bps: 128_000 }],
    ['', {}],
  ] as const) {
    const { page: coming } = dialogOf(QuotaDialog, { quota_bytes: null })
    const page = await coming
    assert.not(page.buttons().includes('Remove quota'))
    await page.put('Amount', '5')
    await page.put('What happens then', 'throttle')
    await page.put('Reduced speed, kbit/s', rate)
    await page.press('Save')
    const body = { quota_bytes: 5 * GB, period: 'month', action: 'throttle', ...sent }
    assert.equal(page.changes(), [[QUOTA, body]])
  }
})

quota('stays open with what was typed when the service refuses it', async () => {
  const { page: coming, told } = dialogOf(QuotaDialog, {}, new Refusal(400, 'validation_failed', 'too much'))
  const page = await coming
  await page.put('Amount', '6')
  await page.press('Save')
  assert.match(page.text(), 'too much')
  assert.is(page.field('Amount').value, '6')
  assert.equal(told, ['changed'])
})

quota('adds to this period what is typed, and asks where the unit may be the wrong one', async () => {
  const { page: coming } = dialogOf(TopUpDialog, { quota_bytes: 30 * MB }, { remaining_bytes: 40 * MB })
  const page = await coming
  assert.equal([page.field('Amount').value, page.field('Unit').value], ['1', 'MB'])
  await page.put('Unit', 'GB')
  await page.put('Amount', '10')
  await page.press('Top up')
  assert.equal(page.changes(), [])
  await page.put('Unit', 'MB')
  await page.press('Top up')
  assert.equal(page.changes(), [[QUOTA, { add_bytes: 10 * MB }]])
  assert.match(page.text(), '40 MB')
})

quota.run()
