import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type EventStream, openEvents } from '../harness/event-client.ts'
import { type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { type Air, openAir } from '../harness/radio/air.ts'
import { OPEN, radioConfig } from '../harness/radio/box.ts'
import { runSvc, type Service, startService, until } from '../harness/service.ts'
import { benchBrowser, changeOnScreen, openFirstScreen } from './console-tab.ts'
import { type Finding, median, quantile } from './measure.ts'

const TIMES = 20
const LIMIT_MS = 1_000
const QUOTA = 1_000
const BY_ITSELF: Readonly<Record<string, string>> = {
  SVC_COLLECTOR_ENABLED: 'true',
  SVC_COLLECTOR_INTERVAL: '1s',
  SVC_FAIRUSE_ENABLED: 'true',
  SVC_ALERTS_ENABLED: 'true',
}

/** A box with a lab core, a radio and cards, and what tells when something has happened. */
interface World {
  readonly service: Service
  readonly page: Page
  readonly lab: LabProcess
  readonly events: EventStream
  /** The public identifier of each card, and the card as a phone takes it. */
  readonly cards: readonly { readonly hash: string; readonly card: object }[]
}

/** A change from outside that can be made again and again: what is done first, what then, and when it is on screen. */
interface Story {
  readonly name: string
  readonly prepare?: (world: World, round: number) => Promise<void>
  readonly act: (world: World, round: number) => Promise<void>
  /** An expression that is true of the document once the change is shown. */
  readonly holds: (world: World, round: number) => string
  /** The event whose time counts, where the box itself finds out; otherwise the request counts, from before it is sent. */
  readonly event?: string
  /** How often, where that is not as often as all: what SIMs have used is judged twice a minute. */
  readonly times?: number
}

const figure = (name: string, value: number): string =>
  `[...document.querySelectorAll('.home-figures > div')].some(({ children: [is, now] }) => is.textContent === '${name}' && now.textContent === '${value}')`
const sentence = (text: string): string =>
  `document.querySelector('.sentence')?.textContent.startsWith('${text}')`
const hashOf = ({ cards }: World, round: number): string => cards[round]?.hash ?? ''

const STORIES: readonly Story[] = [
  {
    name: 'a SIM is suspended',
    act: async (world, round) => await post(world, `/v1/sims/${hashOf(world, round)}/suspend`),
    holds: (_, round) => figure('Suspended', round + 1),
  },
  {
    name: 'the gate is disarmed',
    prepare: async (world) => {
      const isOn = await changeOnScreen(world.page, sentence('The box is on the air.'))
      await until(async () => (await arm(world)) === 200)
      await isOn()
    },
    act: async (world) => await post(world, '/v1/tx/disarm'),
    holds: () => sentence('The box is not on the air'),
  },
  {
    name: 'a session begins',
    event: 'session.begin',
    act: async (world, round) => {
      await phones(world, '/phones', JSON.stringify([world.cards[TIMES + round]?.card]))
    },
    holds: (_, round) => figure('Online', round + 1),
  },
  {
    name: 'a session ends',
    event: 'session.end',
    act: async (world, round) => await phones(world, `/phones/${hashOf(world, TIMES + round)}/detach`),
    holds: (_, round) => figure('Online', TIMES - round - 1),
  },
  {
    name: 'an alert is raised',
    event: 'alert.firing',
    times: 2,
    prepare: async (world, round) => {
      const body = { quota_bytes: QUOTA, period: 'month', action: 'alert' }
      await post(world, `/v1/sims/${hashOf(world, TIMES + round)}/quota`, body)
    },
    act: async (world, round) =>
      await post(world, `/v1/sims/${hashOf(world, TIMES + round)}/usage`, {
        ...{ up_bytes: 0.85 * QUOTA, down_bytes: 0, report_id: `bench-${round}` },
      }),
    holds: (world, round) =>
      `document.querySelector('[aria-labelledby=needs]').textContent.includes('${hashOf(world, TIMES + round)}')`,
  },
]

/** How soon a change that others make is on the first screen, in a page that is not touched. */
export async function benchConsoleChanges(): Promise<readonly Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  const browser = await benchBrowser()
  const air = await openAir(folder)
  const lab = await startLabCore(join(folder, 'lab'))
  try {
    const service = await serviceOf(folder, air, lab)
    try {
      const cards = await issue(service, lab)
      const events = await openEvents(`${service.url}/v1/events`, { token: service.adminToken })
      const page = await openFirstScreen(browser, service)
      await page.getByRole('region', { name: 'What happened last' }).getByRole('listitem').first().waitFor()
      const world = { service, page, lab, events, cards }
      const findings: Finding[] = []
      for (const story of STORIES) findings.push(await tell(world, story))
      return findings
    } finally {
      await service.stop()
    }
  } finally {
    await browser.close()
    await lab.stop()
    air.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function serviceOf(folder: string, air: Air, lab: LabProcess): Promise<Service> {
  const config = join(folder, 'control.yaml')
  writeFileSync(config, radioConfig(air.binary))
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  return await startService({
    dataDir: join(folder, 'data'),
    flags: ['--config', config],
    env: { ...lab.env, ...BY_ITSELF },
  })
}

/** Cards that the core knows. */
async function issue(service: Service, { env }: LabProcess): Promise<World['cards']> {
  const policy = await service.request('PUT', '/v1/policy', { body: OPEN })
  if (policy.status !== 200) throw new Error(`the policy was not taken: ${JSON.stringify(policy.body)}`)
  const { body } = await service.request('POST', '/v1/sims', { body: { count: 2 * TIMES } })
  const [{ batch_id: batch }] = body.sims
  await until(async () => {
    const listed = await service.request('GET', `/v1/sims?limit=${2 * TIMES}`)
    return listed.body.sims.every((sim: SimState) => sim.provisioning.status === 'synced')
  })
  const args = ['sim', 'export', batch, '--data-dir', service.dataDir, '--format', 'json']
  const { stdout } = await runSvc(args, env)
  return JSON.parse(stdout).map((card: { readonly imsi: string }) => ({
    hash: createHash('sha256').update(card.imsi).digest('hex').slice(0, 12),
    card,
  }))
}

interface SimState {
  readonly provisioning: { readonly status: string }
}

/** One story as often as asked for: the time from when it happened to when it is on screen. */
async function tell(world: World, story: Story): Promise<Finding> {
  const times: number[] = []
  for (let round = 0; round < (story.times ?? TIMES); round++) {
    await story.prepare?.(world, round)
    const shown = await changeOnScreen(world.page, story.holds(world, round))
    const known = world.events.events.length
    const startedAt = Date.now()
    await story.act(world, round)
    const shownAt = await shown()
    times.push(
      shownAt - (story.event === undefined ? startedAt : await happenedAt(world, story.event, known)),
    )
  }
  const value = quantile(times, 1)
  const from = story.event === undefined ? 'the request' : 'the event'
  return {
    name: `${story.name}: from ${from} to the screen, worst of ${times.length}`,
    value,
    unit: 'ms',
    beside: { what: 'median', value: median(times) },
    target: `≤ ${LIMIT_MS} ms`,
    isMet: value <= LIMIT_MS,
  }
}

/** When the box noted the first event of a type behind those that were known. */
async function happenedAt({ events }: World, type: string, known: number): Promise<number> {
  const found = (): string | undefined =>
    events.events.slice(known).find((event) => event.type === type)?.data.at
  await until(async () => found() !== undefined)
  return Date.parse(found() ?? '')
}

async function arm({ service }: World): Promise<number> {
  const body = { arm: true, profile_id: 'mast' }
  return (await service.request('POST', '/v1/tx/arm', { body })).status
}

async function post({ service }: World, path: string, body: object = {}): Promise<void> {
  const answer = await service.request('POST', path, { body })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
}

async function phones({ lab }: World, path: string, body?: string): Promise<void> {
  await labPhones(lab.urls.control, 'POST', path, body)
}
