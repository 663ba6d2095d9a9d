import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, stretched, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about, LACKS } from '../harness/builds/program.ts'
import { isAccessible, signInWithToken } from '../harness/console-page.ts'
import { type OutageKind, type OutageWorld, outageWorld, PHONES } from '../harness/outages.ts'
import { done, runSvc } from '../harness/service.ts'

enterOwnMachine(import.meta.filename)

/** What night duty calls an outage, made for real: one on the screen, with its cause, soon, and gone when it is mended. */
const LIMIT = { limitMs: 600_000 }
const incidents = suite('e2e/console-incidents', LIMIT)
/** From what happened until the screen says it. */
const SHOWN_MS = 10_000
/** From when the screen says that all is well until no alert is open. */
const ENDED_MS = 10_000
/** What makes them and shows them. */
const PARTS = ['console', 'driver-core-a', 'driver-ran', 'policy', 'alerts', 'collectors']
const executable = findBrowser()
const isTried = executable !== undefined && !PARTS.some((name) => LACKS.has(name))
const folder = mkdtempSync(join(tmpdir(), 'steeple-incidents-'))
/** What the Overview says is to be done: outages and all else. */
const SHOWN = `[...document.querySelectorAll('.incidents > li, [aria-labelledby="needs"] .home-list > li:not(.hint)')]
  .map((one) => one.getAttribute('aria-label') ?? one.textContent)`

let world: OutageWorld
let browser: Browser | undefined
let page: Page
let problems: readonly string[]

incidents.before(async () => {
  if (!isTried) return
  world = await outageWorld(folder)
  const { service } = world.box
  browser = await openBrowser(executable)
  ;({ page, problems } = await browser.open(service.url))
  await signInWithToken(page, service.adminToken)
  await isWell()
  wellBeforeMs = Date.now()
})

incidents.after(async () => {
  await browser?.close()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function areShown(names: readonly string[]): Promise<void> {
  assert.equal(await page.evaluate(SHOWN), names)
}

async function isWell(): Promise<void> {
  await eventually(async () => {
    await areShown([])
    assert.is(await page.getByText(/^Checked \d+ things at .*: all is well\.$/).count(), 1)
    assert.equal((await done(world.box.service, 'GET', '/v1/health')).incidents, [])
  })
}

/** Outages that were made and mended, and until when those of the start of the box were over. */
const happened: OutageKind[] = []
let wellBeforeMs = 0

interface Past {
  readonly kind: string
  readonly until: string | null
}

interface Told {
  readonly kind: string
  readonly title: string
  readonly component: string
  readonly effects: readonly string[]
  readonly phones_off: number | null
}

/** What is said of an outage, and by which part. */
type Said = Pick<Told, 'title' | 'component'>

/** Makes the outage: it is the only one, on the screen in time, for programs, and for the command. Mends it once `look` has looked. */
async function isOne(kind: OutageKind, said: Said, look: () => Promise<void>): Promise<void> {
  const { cause, mend } = world.outages[kind]
  const beganMs = performance.now()
  try {
    await cause()
    await eventually(() => areShown([said.title]))
    const tookMs = Math.round(performance.now() - beganMs)
    assert.ok(tookMs < stretched(SHOWN_MS), `${tookMs} ms`)
    process.stdout.write(`# ${kind}: on the screen after ${tookMs} ms\n`)
    await eventually(() => isTold(kind, said))
    await look()
    await eventually(() => areShown([said.title]))
  } finally {
    await mend()
  }
  await isWell()
  await isOver(kind, said)
  assert.equal(problems, [])
}

/** Once it is over nothing says that it lasts, and it is kept as one row with its length. */
async function isOver(kind: OutageKind, { title }: Said): Promise<void> {
  await page.getByText(`Over: ${title}, lasted`).first().waitFor()
  const wellMs = performance.now()
  await eventually(async () => {
    const { alerts } = await done(world.box.service, 'GET', '/v1/alerts?state=open')
    assert.equal(alerts, [])
  })
  const tookMs = Math.round(performance.now() - wellMs)
  assert.ok(tookMs < stretched(ENDED_MS), `alerts end after ${tookMs} ms`)
  happened.push(kind)
  const { incidents: past } = await done(world.box.service, 'GET', '/v1/incidents')
  const kinds = past
    .filter((one: Past) => Date.parse(one.until ?? '') > wellBeforeMs)
    .map((one: Past) => one.kind)
  // The restart that mends a store stops the radio, and that is an outage too.
  assert.equal(kinds.slice(kind === 'store_gone' ? kinds.indexOf(kind) : 0), happened.toReversed())
}

/** Waits until the one incident is as `hold` says. */
async function becomes(hold: (incident: Told) => void): Promise<void> {
  await eventually(async () => {
    const { incidents: all } = await done(world.box.service, 'GET', '/v1/health')
    assert.is(all.length, 1)
    hold(all[0])
  })
}

/** What programs and the command are told of: that outage alone. */
async function isTold(kind: OutageKind, { title, component }: Said): Promise<void> {
  const { service } = world.box
  const { stdout } = await runSvc(['status'], { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
  assert.equal(stdout.match(/(?<=^(OUTAGE|ATTENTION): ).*$/gm), [title])
  assert.match(stdout, `  Cause: ${component}: `)
  const { incidents: all } = await done(service, 'GET', '/v1/health')
  assert.equal(
    all.map((one: Told) => [one.kind, one.title, one.component]),
    [[kind, title, component]],
  )
}

if (executable !== undefined) {
  about(PARTS, incidents)(
    'show a radio whose program has ended, and say that the phones are off and nothing is sent',
    () =>
      isOne('no_radio', { title: 'No radio', component: 'driver-ran.ran' }, async () => {
        await becomes(({ effects, phones_off }) => {
          assert.equal([effects, phones_off], [['driver-core-a.radios'], PHONES])
        })
        await page.getByText(`${PHONES} phones are off.`).waitFor()
        await page.getByText('The box is armed, but its transmitter is off.').waitFor()
        await page.getByText('No phone is online.').waitFor()
      }),
    LIMIT,
  )

  about(PARTS, incidents)(
    'show a core that is dead, and under it what asks it',
    () =>
      isOne('no_core', { title: 'No core', component: 'driver-core-a.daemons' }, () =>
        becomes(({ effects, phones_off }) => {
          assert.is(phones_off, PHONES)
          for (const name of ['driver-hss.hss', 'collectors.collector-mme', 'driver-core-a.work'])
            assert.ok(effects.includes(name), name)
        }),
      ),
    LIMIT,
  )

  about(PARTS, incidents)(
    'show a full disk, and under it what cannot be written',
    () =>
      isOne('disk_full', { title: 'The disk is full', component: 'nodes.disk' }, async () => {
        // What was written before has left some room in the files that are there.
        await eventually(async () =>
          assert.is((await world.box.service.request('POST', '/v1/sims', { body: {} })).status, 503),
        )
        await becomes(({ effects }) => assert.ok(effects.includes('store'), String(effects)))
      }),
    LIMIT,
  )

  about(PARTS, incidents)(
    'show a clock that has leapt',
    () =>
      isOne('clock_wrong', { title: 'The clock is wrong', component: 'clock' }, async () => {
        assert.is(await page.getByRole('button', { name: 'Check the time' }).count(), 1)
        await page.getByText('The clock was found to be wrong').first().waitFor()
      }),
    LIMIT,
  )

  about(PARTS, incidents)(
    'show that the internet is away, and leave the radio alone',
    () =>
      isOne('no_internet', { title: 'No internet', component: 'nodes.internet' }, async () => {
        const { components } = await done(world.box.service, 'GET', '/v1/health')
        const radio = components.find(({ name }: { readonly name: string }) => name === 'driver-ran.ran')
        assert.not.match(radio.detail, /its configuration has changed/)
      }),
    LIMIT,
  )

  about(PARTS, incidents)(
    'show a store that was replaced while it was in use, and are over once the right one is back',
    () =>
      isOne(
        'store_gone',
        { title: 'The database of the box cannot be used', component: 'store' },
        async () => {
          await page
            .getByText(/svc\.db was replaced by another file .* put .* back or restore a backup/)
            .first()
            .waitFor()
          await isAccessible(page, 'overview without a store')
        },
      ),
    LIMIT,
  )
}

incidents.run()
